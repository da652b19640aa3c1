package io.lambdadispatcher.worker.adapter.web;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedStream;
import io.lambdadispatcher.worker.ScriptedStream.Gathered;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * An application sends bytes that belong to no request. Each client must get exactly its own
 * response, whatever these bytes are and however they are cut (RFC 9112 section 6.3).
 */
@Timeout(120)
class Http1SurplusTest {
    private static final String STOLEN = "set-cookie: sid=attacker\r\n";
    private static final List<String> SURPLUS = List.of(
            "",
            "",
            "",
            "\r\n",
            "\n",
            " ",
            "x",
            "0\r\n\r\n",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 200 OK\r\n" + STOLEN,
            "HTTP/1.1 200 OK\r\n" + STOLEN + "x: ",
            "HTTP/1.1 200 OK\r\n" + STOLEN + "content-length: 100\r\n\r\nshort",
            "HTTP/1.1 200 OK\r\n" + STOLEN + "content-length: 5\r\n\r\nother",
            "HTTP/1.1 200 OK\r\n" + STOLEN + "transfer-encoding: chunked\r\n\r\n5\r\nother\r\n",
            "HTTP/1.1 204 No Content\r\n" + STOLEN + "\r\n",
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\n" + STOLEN + "\r\n",
            "HTTP/1.1 101 Switching Protocols\r\n" + STOLEN + "\r\n");

    /** What the application sends for a request. The body names the request. */
    private static String response(String method, String token, Random random) {
        String interim = random.nextInt(4) == 0 ? "HTTP/1.1 100 Continue\r\n\r\n" : "";
        String body = switch (method.equals("HEAD") ? random.nextInt(2) : random.nextInt(6)) {
            case 0 -> "HTTP/1.1 204 No Content\r\ntoken: " + token + "\r\n\r\n";
            case 1 -> "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\ntoken: " + token + "\r\n\r\n";
            case 2 ->
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntoken: " + token + "\r\n\r\n"
                        + Integer.toHexString(token.length()) + "\r\n" + token + "\r\n0\r\n\r\n";
            case 3 ->
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntoken: " + token
                        + "\r\n\r\n0\r\nx-trailer: a\r\n\r\n";
            case 4 -> "HTTP/1.1 200 OK\r\ncontent-length: 0\r\ntoken: " + token + "\r\n\r\n";
            default ->
                "HTTP/1.1 200 OK\r\ncontent-length: " + token.length() + "\r\ntoken: " + token + "\r\n\r\n" + token;
        };
        return interim + body;
    }

    /** Sends the text in up to four parts. */
    private static void write(RawApp.Connection to, String text, Random random) throws IOException {
        int[] cuts =
                random.ints(random.nextInt(4), 0, text.length() + 1).sorted().toArray();
        int from = 0;
        for (int cut : cuts) {
            to.write(text.substring(from, cut));
            from = cut;
        }
        to.write(text.substring(from));
    }

    /** Whether a part of an upload is read before the response does not matter. */
    private static void serve(RawApp app, RawApp.Connection connection, Random random) throws IOException {
        String head;
        while (!(head = connection.readHead()).isEmpty()) {
            String method = head.substring(0, head.indexOf(' '));
            String token = head.substring(head.indexOf('/') + 1, head.indexOf(" HTTP/"));
            if (token.isEmpty()) {
                connection.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"); // the readiness check
                continue;
            }
            if (method.equals("POST") && random.nextBoolean()) {
                connection.read(3);
            }
            String surplus = SURPLUS.get(random.nextInt(SURPLUS.size()));
            try {
                write(connection, response(method, token, random) + surplus, random);
            } finally {
                // The worker may have closed the connection before the last part.
                app.heard.add(token);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void should_give_each_client_exactly_its_own_response(long seed) throws Exception {
        Random random = new Random(seed);
        RawApp[] app = new RawApp[1];
        app[0] = new RawApp(connection -> serve(app[0], connection, new Random(seed * 1000 + connection.index)));
        try (RawApp served = app[0];
                Harness harness = new Harness(new WebHandler(served.config()))) {
            ScriptedStream stream = harness.stream();
            for (int i = 0; i < 200; i++) {
                String token = "token" + i;
                String what = "seed " + seed + ", request " + i;
                Gathered response = exchange(stream, random.nextInt(3), token);
                // All bytes have arrived in the kernel, so they are older than the next request.
                assertThat(served.takeHeard()).as(what).isEqualTo(token);
                assertThat(response.status()).as(what).isIn("200", "204", "304");
                assertThat(response.head().headers().get("token")).as(what).hasToString(token);
                assertThat(response.head().headers().contains("set-cookie"))
                        .as(what)
                        .isFalse();
                assertThat(response.text()).as(what).isIn("", token);
            }
            assertThat(served.connections()).as("connections are used again").isLessThan(200);
        }
    }

    private static Gathered exchange(ScriptedStream stream, int kind, String token) throws Exception {
        Http2Headers head = switch (kind) {
            case 0 -> get("/" + token);
            case 1 -> get("/" + token).method("HEAD");
            default -> post("/" + token).add("content-length", "3");
        };
        if (kind < 2) {
            return stream.exchange(head);
        }
        stream.request(head, 0, false);
        stream.data("abc".getBytes(StandardCharsets.US_ASCII), true);
        return stream.gather();
    }
}
