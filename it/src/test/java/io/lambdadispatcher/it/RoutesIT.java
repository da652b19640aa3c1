package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The demo routes, over HTTP/1.1 and over h2, through a worker process. */
class RoutesIT {
    /** The size of the body in the published benchmarks of comparable systems. */
    private static final int LARGE_BYTES = 9_365_076;

    private static Rig rig;

    @BeforeAll
    static void start() {
        rig = Rig.start();
        rig.worker(2, 50);
    }

    @AfterAll
    static void stop() throws Exception {
        rig.close();
    }

    private static URI uri(HttpClient.Version version, String path) {
        return version == HttpClient.Version.HTTP_2 ? rig.https(path) : rig.http(path);
    }

    private static HttpResponse<byte[]> get(HttpClient.Version version, String path) throws Exception {
        HttpResponse<byte[]> response = rig.client(version)
                .send(
                        HttpRequest.newBuilder(uri(version, path))
                                .timeout(Duration.ofSeconds(60))
                                .build(),
                        BodyHandlers.ofByteArray());
        assertThat(response.version()).isEqualTo(version);
        return response;
    }

    private static String text(HttpResponse<byte[]> response) {
        return new String(response.body(), StandardCharsets.UTF_8);
    }

    @ParameterizedTest
    @EnumSource(HttpClient.Version.class)
    void should_serve_the_small_routes(HttpClient.Version version) throws Exception {
        assertThat(text(get(version, "/ping"))).isEqualTo("pong");
        assertThat(get(version, "/odd-status").statusCode()).isEqualTo(519);
        assertThat(text(get(version, "/delay?delay=30"))).contains("30 ms");
        assertThat(text(get(version, "/chunked-response?delay=1")))
                .startsWith("chunk 0\n")
                .endsWith("chunk 9\n");
        assertThat(text(get(version, "/sse?delay=1&count=3"))).contains("data: event 2");
        assertThat(text(get(version, "/headers"))).contains("x-forwarded-for");
        assertThat(text(get(version, "/debug"))).contains("\"path\":\"/debug\"");
        assertThat(get(version, "/nowhere").statusCode()).isEqualTo(404);
        assertThat(get(version, "/fail").statusCode()).isEqualTo(500);
        rig.awaitAllFree();
    }

    @ParameterizedTest
    @EnumSource(HttpClient.Version.class)
    void should_serve_the_image_whole(HttpClient.Version version) throws Exception {
        byte[] image = get(version, "/public/silly-test-image.jpg").body();
        assertThat(image).hasSize(168_161);
        assertThat(javax.imageio.ImageIO.read(new ByteArrayInputStream(image))).isNotNull();
    }

    @Test
    void should_echo_large_bodies_byte_for_byte_and_many_at_once_over_http2() throws Exception {
        byte[] body = random(LARGE_BYTES);
        HttpClient client = rig.client(HttpClient.Version.HTTP_2);
        List<CompletableFuture<HttpResponse<byte[]>>> all = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            String route = i % 2 == 0 ? "/echo" : "/blocking-echo";
            all.add(client.sendAsync(
                    HttpRequest.newBuilder(rig.https(route))
                            .POST(BodyPublishers.ofByteArray(body))
                            .timeout(Duration.ofSeconds(150))
                            .build(),
                    BodyHandlers.ofByteArray()));
        }
        for (CompletableFuture<HttpResponse<byte[]>> response : all) {
            assertThat(response.get().statusCode()).isEqualTo(200);
            assertThat(response.get().body()).isEqualTo(body);
        }
        rig.awaitAllFree();
    }

    /**
     * Uses a socket, because the JDK's client reads an HTTP/1.1 response only after it has sent the
     * complete request.
     */
    @ParameterizedTest
    @ValueSource(strings = {"/echo", "/blocking-echo"})
    void should_echo_a_large_body_byte_for_byte_over_http1(String route) throws Exception {
        byte[] body = random(LARGE_BYTES);
        try (Socket socket = new Socket("127.0.0.1", rig.plainPort())) {
            socket.setSoTimeout(60_000);
            OutputStream out = socket.getOutputStream();
            Thread writer = new Thread(() -> {
                try {
                    out.write(("POST " + route + " HTTP/1.0\r\nContent-Length: " + body.length + "\r\n\r\n")
                            .getBytes(StandardCharsets.US_ASCII));
                    out.write(body);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            writer.start();
            byte[] response = socket.getInputStream().readAllBytes();
            writer.join();
            assertThat(new String(response, 0, 15, StandardCharsets.US_ASCII)).isEqualTo("HTTP/1.1 200 OK");
            byte[] echoed = Arrays.copyOfRange(response, response.length - body.length, response.length);
            assertThat(echoed).isEqualTo(body);
        }
        rig.awaitAllFree();
    }

    private static byte[] random(int bytes) {
        byte[] body = new byte[bytes];
        new Random(1).nextBytes(body);
        return body;
    }

    @ParameterizedTest
    @EnumSource(HttpClient.Version.class)
    void should_echo_halves_and_doubles(HttpClient.Version version) throws Exception {
        byte[] body = new byte[100_000];
        HttpClient client = rig.client(version);
        assertThat(client.send(
                                HttpRequest.newBuilder(uri(version, "/double-echo"))
                                        .POST(BodyPublishers.ofByteArray(body))
                                        .build(),
                                BodyHandlers.ofByteArray())
                        .body())
                .hasSize(200_000);
        assertThat(client.send(
                                HttpRequest.newBuilder(uri(version, "/half-echo"))
                                        .POST(BodyPublishers.ofByteArray(body))
                                        .build(),
                                BodyHandlers.ofByteArray())
                        .body())
                .hasSize(50_000);
    }
}
