package io.lambdadispatcher.server.demo;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedStream;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(180)
class DemoHandlerTest {
    private final Harness harness = new Harness(new DemoHandler());
    private ScriptedStream stream;

    @BeforeEach
    void connect() throws Exception {
        stream = harness.stream();
    }

    @AfterEach
    void close() {
        harness.close();
    }

    private ScriptedStream.Gathered send(Http2Headers head, String... parts) throws InterruptedException {
        stream.request(head, 0, false);
        for (String part : parts) {
            stream.data(part.getBytes(StandardCharsets.US_ASCII), false);
        }
        stream.data(new byte[0], true);
        return stream.gather();
    }

    @Test
    void should_answer_the_fixed_routes() throws Exception {
        assertThat(stream.exchange(get("/ping")).body()).hasSize(4).asString().isEqualTo("pong");
        assertThat(stream.exchange(get("/health")).status()).isEqualTo("200");
        assertThat(stream.exchange(get("/odd-status")).status()).isEqualTo("519");
        assertThat(stream.exchange(get("/nowhere")).status()).isEqualTo("404");
        assertThat(stream.exchange(get("/")).text()).contains("/echo");
        assertThat(stream.exchange(get("/delay?delay=1")).text()).contains("1 ms");
        assertThat(stream.exchange(get("/delay?delay=soon")).status()).isEqualTo("400");
    }

    @Test
    void should_answer_head_without_a_body() throws Exception {
        ScriptedStream.Gathered response = stream.exchange(get("/ping").method("HEAD"));
        assertThat(response.body()).isEmpty();
        assertThat(response.head().headers().get("content-length").toString()).isEqualTo("4");
    }

    @Test
    void should_serve_the_image_again_and_again() throws Exception {
        for (int i = 0; i < 5; i++) {
            ScriptedStream.Gathered response = stream.exchange(get("/public/silly-test-image.jpg"));
            assertThat(response.head().headers().get("content-type").toString()).isEqualTo("image/jpeg");
            assertThat(response.body()).hasSize(168_161);
            assertThat(ImageIO.read(new ByteArrayInputStream(response.body())).getWidth())
                    .isPositive();
        }
    }

    @Test
    void should_read_the_same_bytes_from_a_file() throws Exception {
        byte[] image = stream.exchange(get("/public/silly-test-image.jpg")).body();
        for (int i = 0; i < 3; i++) {
            ScriptedStream.Gathered response = stream.exchange(get("/read"));
            assertThat(response.head().headers().get("content-type").toString()).isEqualTo("image/jpeg");
            assertThat(response.head().headers().get("content-length").toString())
                    .isEqualTo("168161");
            assertThat(response.body()).isEqualTo(image);
        }
        assertThat(stream.exchange(get("/read").method("HEAD")).body()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"/echo", "/echo-slow?delay=1", "/blocking-echo"})
    void should_echo_body_and_trailers(String path) throws Exception {
        stream.request(post(path).set("content-type", "text/x-test"), 0, false);
        stream.data("one ".getBytes(StandardCharsets.US_ASCII), false);
        stream.data("two".getBytes(StandardCharsets.US_ASCII), false);
        stream.trailers(new DefaultHttp2Headers().add("x-checksum", "7"));
        ScriptedStream.Gathered response = stream.gather();
        assertThat(response.text()).isEqualTo("one two");
        assertThat(response.trailers().get("x-checksum").toString()).isEqualTo("7");
    }

    @Test
    void should_echo_twice_and_by_half() throws Exception {
        assertThat(send(post("/double-echo"), "ab").text()).isEqualTo("abab");
        assertThat(send(post("/half-echo"), "abcde", "fg", "hij").body()).hasSize(5);
    }

    @Test
    void should_tell_what_it_was_told() throws Exception {
        String headers =
                stream.exchange(get("/headers").add("x-a", "1").add("x-a", "2")).text();
        assertThat(headers).contains("\"x-a\":[\"1\",\"2\"]");
        String debug = send(post("/debug?x=1"), "12345").text();
        assertThat(debug).contains("\"bodyBytes\":5").contains("\"path\":\"/debug?x=1\"");
    }

    @Test
    void should_stream_parts_and_events() throws Exception {
        assertThat(stream.exchange(get("/chunked-response?chunks=3&delay=1")).text())
                .isEqualTo("chunk 0\nchunk 1\nchunk 2\n");
        assertThat(stream.exchange(get("/sse?count=2&delay=1")).text())
                .isEqualTo("id: 0\ndata: event 0\n\nid: 1\ndata: event 1\n\n");
    }

    @Test
    void should_send_hints_before_the_answer() throws Exception {
        stream.request(get("/hints"), 0, true);
        assertThat(stream.take(ScriptedStream.Interim.class).headers().get("link"))
                .isNotNull();
        assertThat(stream.gather().text()).isEqualTo("pong");
    }

    @Test
    void should_fail_and_be_silent_on_purpose() throws Exception {
        stream.request(get("/fail"), 0, true);
        assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.HANDLER_FAILED);
        stream.request(get("/silent"), 0, true);
        stream.cancel(ErrorCode.CANCELLED);
        assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.CANCELLED);
    }
}
