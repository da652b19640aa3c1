package io.lambdadispatcher.worker.adapter.web;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedStream;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Bodies whose length the client does not say, on their way to an application over HTTP/1.1. */
@Timeout(180)
class UncountedBodyTest {
    private static final String OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    /** Tells the test about each request: its headers, and its body without the framing. */
    private static RawApp reader() throws IOException {
        RawApp[] app = new RawApp[1];
        app[0] = new RawApp(connection -> {
            String head;
            while (!(head = connection.readHead()).isEmpty()) {
                app[0].heard.add(head);
                app[0].heard.add(body(connection, head));
                connection.write(OK);
            }
        });
        return app[0];
    }

    private static String body(RawApp.Connection connection, String head) throws IOException {
        int at = head.indexOf("content-length: ");
        if (at >= 0) {
            return connection.read(Integer.parseInt(head.substring(at + 16, head.indexOf('\r', at))));
        }
        StringBuilder body = new StringBuilder();
        while (head.contains("transfer-encoding: chunked")) {
            int size = Integer.parseInt(line(connection), 16);
            if (size == 0) {
                while (!line(connection).isEmpty()) {}
                break;
            }
            body.append(connection.read(size));
            line(connection);
        }
        return body.toString();
    }

    private static String line(RawApp.Connection connection) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = connection.in.read(); c != '\n'; c = connection.in.read()) {
            line.append((char) c);
        }
        return line.toString().trim();
    }

    private static Harness worker(RawApp app) {
        return new Harness(new WebHandler(app.config())::handle);
    }

    private static byte[] bytes(Random random, int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    /** CGI and WSGI applications read no body without a length. */
    @Test
    void should_say_the_length_of_a_body_that_arrives_with_its_headers() throws Exception {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        try (RawApp app = reader();
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            for (int i = 0; i < 200; i++) {
                byte[] body = bytes(random, random.nextInt(4) == 0 ? random.nextInt(3) : random.nextInt(4_000));
                stream.request(post("/"), body, true);
                String round = "round " + i + " of seed " + seed;
                assertThat(app.takeHeard())
                        .as(round)
                        .contains("\r\ncontent-length: " + body.length + "\r\n")
                        .doesNotContain("transfer-encoding");
                assertThat(app.takeHeard().getBytes(StandardCharsets.ISO_8859_1))
                        .as(round)
                        .isEqualTo(body);
                assertThat(stream.gather().text()).isEqualTo("ok");
            }
        }
    }

    /** In parts of any size and with pauses of any length, with trailers and without. */
    @Test
    void should_pass_on_every_byte_however_the_body_arrives() throws Exception {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        try (RawApp app = reader();
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            for (int i = 0; i < 60; i++) {
                boolean trailers = random.nextInt(3) == 0;
                stream.request(post("/"), 0, false);
                StringBuilder body = new StringBuilder();
                for (int part = random.nextInt(5); part > 0; part--) {
                    byte[] bytes = bytes(random, random.nextInt(8) == 0 ? 300_000 : random.nextInt(50_000));
                    body.append(new String(bytes, StandardCharsets.ISO_8859_1));
                    // A frame that has passed flow control may arrive at any time within the wait.
                    if (random.nextInt(3) == 0) {
                        stream.dataWhenTaken(bytes, false).await();
                    } else {
                        stream.data(bytes, false);
                    }
                }
                if (trailers) {
                    stream.trailers(new DefaultHttp2Headers().add("x-sum", "1"));
                } else {
                    stream.data(new byte[0], true);
                }
                String round = "round " + i + " of seed " + seed;
                String head = app.takeHeard();
                assertThat(head.contains("content-length")).as(round).isNotEqualTo(head.contains("chunked"));
                assertThat(trailers && head.contains("content-length"))
                        .as(round)
                        .isFalse();
                assertThat(app.takeHeard().equals(body.toString())).as(round).isTrue();
                assertThat(stream.gather().text()).isEqualTo("ok");
            }
        }
    }

    /** An application may answer to the part of a body that it has. */
    @Test
    void should_not_wait_long_for_the_end_of_a_body() throws Exception {
        RawApp[] it = new RawApp[1];
        try (RawApp app = new RawApp(connection -> {
                    it[0].heard.add(connection.readHead() + connection.read("3\r\nabc".length()));
                    connection.write(OK);
                    connection.awaitEnd();
                });
                Harness harness = worker(app)) {
            it[0] = app;
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), "abc".getBytes(StandardCharsets.US_ASCII), false);
            assertThat(app.takeHeard())
                    .contains("transfer-encoding: chunked\r\n")
                    .endsWith("\r\n\r\n3\r\nabc");
            assertThat(stream.gather().text()).isEqualTo("ok");
        }
    }

    @Test
    void should_forget_a_body_whose_client_leaves_while_it_is_held() throws Exception {
        try (RawApp app = reader();
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            for (int i = 0; i < 20; i++) {
                Http2Headers head = post("/");
                stream.request(head, new byte[1_000], false);
                stream.cancel(ErrorCode.CANCELLED);
                stream.take(ScriptedStream.Reset.class);
            }
            assertThat(stream.exchange(get("/")).text()).isEqualTo("ok");
        }
    }
}
