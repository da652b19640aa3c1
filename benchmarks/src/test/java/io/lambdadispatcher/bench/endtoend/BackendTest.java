package io.lambdadispatcher.bench.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.Channel;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class BackendTest {
    /** Connection preface and an empty SETTINGS frame. */
    private static final byte[] HTTP2_START =
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0".getBytes(StandardCharsets.ISO_8859_1);

    private static final int SETTINGS = 4;

    private Channel listener;

    @BeforeEach
    void start() throws InterruptedException {
        listener = BackendMain.start(0);
    }

    @AfterEach
    void stop() throws InterruptedException {
        listener.close().sync();
    }

    @Test
    void should_answer_ping_with_four_bytes_over_http1() throws Exception {
        HttpResponse<byte[]> answer = get("/ping");

        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.body()).hasSize(4);
    }

    @Test
    void should_answer_as_many_bytes_as_the_image_has_every_time() throws Exception {
        assertThat(get("/public/silly-test-image.jpg").body())
                .hasSize(168_161)
                .isEqualTo(get("/public/silly-test-image.jpg").body());
    }

    @Test
    void should_send_back_what_is_posted_to_echo() throws Exception {
        byte[] bytes = get("/public/silly-test-image.jpg").body();
        HttpRequest request = HttpRequest.newBuilder(uri("/echo"))
                .POST(BodyPublishers.ofByteArray(bytes))
                .build();

        HttpResponse<byte[]> answer = client().send(request, BodyHandlers.ofByteArray());

        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.body()).isEqualTo(bytes);
    }

    @Test
    void should_not_know_other_paths() throws Exception {
        assertThat(get("/pong").statusCode()).isEqualTo(404);
    }

    @Test
    void should_speak_http2_after_its_preface() throws IOException {
        try (Socket socket = new Socket("127.0.0.1", address().getPort())) {
            socket.getOutputStream().write(HTTP2_START);
            byte[] header = socket.getInputStream().readNBytes(9);

            assertThat(header[3]).isEqualTo((byte) SETTINGS);
        }
    }

    private HttpResponse<byte[]> get(String path) throws IOException, InterruptedException {
        return client().send(HttpRequest.newBuilder(uri(path)).build(), BodyHandlers.ofByteArray());
    }

    private static HttpClient client() {
        return HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    }

    private URI uri(String path) {
        return URI.create("http://127.0.0.1:" + address().getPort() + path);
    }

    private InetSocketAddress address() {
        return (InetSocketAddress) listener.localAddress();
    }
}
