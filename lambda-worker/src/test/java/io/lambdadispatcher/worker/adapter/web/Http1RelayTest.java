package io.lambdadispatcher.worker.adapter.web;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedStream;
import io.lambdadispatcher.worker.ScriptedStream.Gathered;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(180)
class Http1RelayTest {
    private static final String OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    /**
     * Announces a keep-alive timeout, so that a POST may use a connection that has been idle for
     * longer than a moment.
     */
    private static final String KEPT = "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=60\r\nContent-Length: 2\r\n\r\nok";

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static Harness worker(RawApp app) {
        return new Harness(new WebHandler(app.config())::handle);
    }

    /** Responds to each request in the same way, and tells the test about its headers. */
    private static RawApp answering(String answer) throws IOException {
        RawApp[] app = new RawApp[1];
        app[0] = new RawApp(connection -> {
            String head;
            while (!(head = connection.readHead()).isEmpty()) {
                app[0].heard.add(head);
                connection.write(answer);
            }
        });
        return app[0];
    }

    @Test
    void should_translate_heads_both_ways() throws Exception {
        try (RawApp app = answering("HTTP/1.1 418 Teapot\r\nContent-Length: 2\r\nX-Two: a\r\nSet-Cookie: a=1\r\n"
                        + "set-cookie: b=2\r\nX-Two: b\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n"
                        + "Keep-Alive: timeout=5\r\n\r\nok");
                Harness harness = worker(app)) {
            Http2Headers head = get("/a%20b?c=d&e")
                    .add("accept", "x", "y")
                    .add("cookie", "a=1", "b=2")
                    .add("te", "trailers")
                    .add("x-latin", "\u00e9");
            Gathered answer = harness.stream().exchange(head);
            assertThat(app.takeHeard())
                    .isEqualTo("GET /a%20b?c=d&e HTTP/1.1\r\nhost: example\r\naccept: x\r\naccept: y\r\n"
                            + "cookie: a=1; b=2\r\nx-latin: \u00e9\r\nte: trailers\r\nconnection: te\r\n\r\n");
            assertThat(answer.status()).isEqualTo("418");
            assertThat(answer.text()).isEqualTo("ok");
            Http2Headers fields = answer.head().headers();
            assertThat(fields.getAll("set-cookie").stream().map(Object::toString))
                    .containsExactly("a=1", "b=2");
            assertThat(fields.getAll("x-two").stream().map(Object::toString)).containsExactly("a", "b");
            assertThat(fields.contains("connection")).isFalse();
            assertThat(fields.contains("keep-alive")).isFalse();
            assertThat(fields.contains("x-hop")).isFalse();
        }
    }

    /** Applications written for the AWS Lambda Web Adapter trust these headers as Lambda's own. */
    @Test
    void should_drop_fields_by_which_a_client_claims_to_be_an_event() throws Exception {
        try (RawApp app = answering(OK);
                Harness harness = worker(app)) {
            harness.stream()
                    .exchange(get("/").add("x-amzn-request-context", "{\"authorizer\":{}}")
                            .add("x-amzn-lambda-context", "{}")
                            .add("x_amzn_request-context", "{}")
                            .add("x-amzn_lambda_context", "{}")
                            .add("x-amzn-request-contexts", "1")
                            .add("x-amzn-trace-id", "2"));
            assertThat(app.takeHeard())
                    .isEqualTo("GET / HTTP/1.1\r\nhost: example\r\nx-amzn-request-contexts: 1\r\n"
                            + "x-amzn-trace-id: 2\r\n\r\n");
        }
    }

    @Test
    void should_keep_its_connection_for_the_next_request() throws Exception {
        try (RawApp app = answering(KEPT);
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            for (int i = 0; i < 10; i++) {
                assertThat(stream.exchange(i % 2 == 0 ? get("/") : post("/")).text())
                        .isEqualTo("ok");
            }
            assertThat(app.connections()).isEqualTo(1);
        }
    }

    @Test
    void should_send_a_body_of_known_length_as_it_is() throws Exception {
        RawApp[] it = new RawApp[1];
        try (RawApp app = new RawApp(connection -> {
                    it[0].heard.add(connection.readHead() + connection.read(6));
                    connection.write(OK);
                    connection.awaitEnd();
                });
                Harness harness = worker(app)) {
            it[0] = app;
            ScriptedStream stream = harness.stream();
            stream.request(post("/").add("content-length", "6"), 0, false);
            stream.data(bytes("abc"), false);
            stream.data(bytes("def"), true);
            assertThat(app.takeHeard()).endsWith("content-length: 6\r\n\r\nabcdef");
            assertThat(stream.gather().text()).isEqualTo("ok");
        }
    }

    @Test
    void should_send_a_body_of_unknown_length_in_chunks_with_trailers() throws Exception {
        RawApp[] it = new RawApp[1];
        try (RawApp app = new RawApp(connection -> {
                    it[0].heard.add(connection.readHead() + connection.readHead());
                    connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
                            + "3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nX-Sum: 5\r\nX-Sum: 6\r\n\r\n");
                    connection.awaitEnd();
                });
                Harness harness = worker(app)) {
            it[0] = app;
            ScriptedStream stream = harness.stream();
            stream.request(post("/").add("te", "trailers"), 0, false);
            stream.data(bytes("abc"), false);
            stream.data(bytes("0123456789abcdef"), false);
            stream.trailers(new DefaultHttp2Headers().add("x-check", "7"));
            assertThat(app.takeHeard())
                    .contains("transfer-encoding: chunked\r\n")
                    .endsWith("\r\n\r\n3\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nx-check: 7\r\n\r\n");
            Gathered answer = stream.gather();
            assertThat(answer.text()).isEqualTo("abcde");
            assertThat(answer.trailers()).isNotNull();
            assertThat(answer.trailers().getAll("x-sum").stream().map(Object::toString))
                    .containsExactly("5", "6");
            assertThat(answer.head().headers().get("trailer")).hasToString("X-Sum");
        }
    }

    @Test
    void should_keep_the_rules_of_responses_without_a_body() throws Exception {
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n");
                    connection.readHead();
                    connection.write("HTTP/1.1 204 No Content\r\n\r\n");
                    connection.readHead();
                    connection.write("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n");
                    connection.readHead();
                    connection.write("HTTP/1.1 599 \r\nContent-Length: 0\r\n\r\n");
                    connection.awaitEnd();
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            Gathered head = stream.exchange(get("/").method("HEAD"));
            assertThat(head.head().end()).isTrue();
            assertThat(head.head().headers().get("content-length")).hasToString("7");
            assertThat(stream.exchange(get("/")).status()).isEqualTo("204");
            Gathered unmodified = stream.exchange(get("/"));
            assertThat(unmodified.status()).isEqualTo("304");
            assertThat(unmodified.head().headers().get("content-length")).hasToString("9");
            assertThat(stream.exchange(get("/")).status()).isEqualTo("599");
            assertThat(app.connections()).isEqualTo(1);
        }
    }

    @Test
    void should_take_the_end_of_the_connection_for_the_end_of_an_old_response() throws Exception {
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    connection.write("HTTP/1.0 200 OK\r\n\r\nuntil ");
                    connection.write("the end");
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            assertThat(stream.exchange(get("/")).text()).isEqualTo("until the end");
            assertThat(stream.exchange(get("/")).text()).isEqualTo("until the end");
            assertThat(app.connections()).isEqualTo(2);
        }
    }

    @Test
    void should_never_take_a_reset_for_an_end() throws Exception {
        RawApp[] it = new RawApp[1];
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    connection.write("HTTP/1.0 200 OK\r\n\r\npart");
                    it[0].takeHeard();
                    connection.reset();
                });
                Harness harness = worker(app)) {
            it[0] = app;
            ScriptedStream stream = harness.stream();
            stream.request(get("/"), 0, true);
            stream.take(ScriptedStream.Head.class);
            stream.take(ScriptedStream.Data.class);
            app.heard.add("the client has the first part");
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.HANDLER_FAILED);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"Content-Length: 9\r\n\r\npart", "Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\n"})
    void should_break_off_a_response_that_the_app_does_not_complete(String answer) throws Exception {
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    connection.write("HTTP/1.1 200 OK\r\n" + answer);
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            stream.request(get("/"), 0, true);
            stream.take(ScriptedStream.Head.class);
            stream.take(ScriptedStream.Data.class);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.HANDLER_FAILED);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\r\n\r\n\0\0 garbage \r\n\r\n",
                "HTTP/1.1 42 OK\r\nContent-Length: 0\r\n\r\n",
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
                "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                "HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n",
                "HTTP/1.1 200 OK\r\n:status: 500\r\nContent-Length: 0\r\n\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
                "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
                ""
            })
    void should_answer_502_for_what_is_no_response(String answer) throws Exception {
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    connection.write(answer);
                });
                Harness harness = worker(app)) {
            Gathered answered = harness.stream().exchange(get("/"));
            assertThat(answered.status()).isEqualTo("502");
            assertThat(answered.text()).contains("app");
        }
    }

    /** Headers count with 32 bytes more each on a worker stream (RFC 9113 section 6.5.2). */
    @Test
    void should_answer_if_the_headers_of_a_response_cannot_be_passed_on() throws Exception {
        StringBuilder answer = new StringBuilder("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n");
        for (int i = 0; i < 4_000; i++) {
            answer.append("x-").append(i).append(": ").append("v".repeat(32)).append("\r\n");
        }
        try (RawApp app = answering(answer.append("\r\n").toString());
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            stream.request(get("/"), 0, true);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.BAD_MESSAGE);
        }
    }

    @Test
    void should_close_a_connection_with_more_than_the_response_on_it() throws Exception {
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    connection.write(OK + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
                    connection.awaitEnd();
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            for (int i = 0; i < 3; i++) {
                assertThat(stream.exchange(get("/")).text()).isEqualTo("ok");
            }
            assertThat(app.connections()).isEqualTo(3);
        }
    }

    @Test
    void should_not_use_a_connection_again_whose_response_had_two_lengths() throws Exception {
        try (RawApp app = answering("HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n"
                        + "2\r\nok\r\n0\r\n\r\n");
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            assertThat(stream.exchange(get("/")).text()).isEqualTo("ok");
            assertThat(stream.exchange(get("/")).text()).isEqualTo("ok");
            assertThat(app.connections()).isEqualTo(2);
        }
    }

    /** Headers that a worker stream would pass, but that HTTP/1.1 must not see. */
    @Test
    void should_refuse_a_head_that_would_be_two_requests() {
        String[][] bad = {
            {":path", "/ HTTP/1.1\r\nx: y\r\n\r\nGET /"},
            {":path", "/a b"},
            {":path", "relative"},
            {":method", "GET /evil"},
            {":authority", "a\r\nx: y"},
            {":authority", "a/b"},
            {"x", "a\r\nevil: 1"},
            {"x", "a\nb"},
            {"x\r\ny", "a"},
            {"x y", "a"},
            {"x:", "a"},
            {"content-length", "+1"},
            {"content-length", ""},
            {"content-length", "1234567890123456789"},
            {"cookie", "a\r\nb"}
        };
        for (String[] field : bad) {
            Http2Headers head = new DefaultHttp2Headers(false)
                    .method("GET")
                    .scheme("http")
                    .authority("example")
                    .path("/");
            head.set(field[0], field[1]);
            assertThat(textOf(head, false)).as(field[0] + " = " + field[1]).startsWith("refused");
        }
        assertThat(textOf(post("/").add("content-length", "5", "5"), false)).startsWith("refused");
        assertThat(textOf(get("/").authority("a".repeat(301)), true))
                .isEqualTo("refused: authority of 301 characters, expected at most 300");
        Http2Headers hops = new DefaultHttp2Headers(false)
                .setAll(get("/"))
                .add("connection", "x")
                .add("keep-alive", "x")
                .add("transfer-encoding", "chunked")
                .add("upgrade", "h2c");
        assertThat(textOf(hops, true)).isEqualTo("GET / HTTP/1.1\r\nhost: example\r\n\r\n");
        assertThat(textOf(post("/").add("content-length", "5"), true)).startsWith("refused");
    }

    private static String textOf(Http2Headers head, boolean bodyless) {
        io.netty.buffer.ByteBuf out = io.netty.buffer.Unpooled.buffer();
        try {
            new Http1RequestHead(
                            out, head, Origin.STREAM, WebConfig.builder(8080).build(), null)
                    .write(bodyless);
            return out.toString(StandardCharsets.ISO_8859_1);
        } catch (BadMessageException e) {
            return "refused: " + e.getMessage();
        } finally {
            out.release();
        }
    }

    @Test
    void should_refuse_a_body_unlike_its_length_and_let_none_of_the_rest_through() throws Exception {
        RawApp[] it = new RawApp[1];
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    it[0].heard.add(new String(connection.in.readAllBytes(), StandardCharsets.ISO_8859_1));
                });
                Harness harness = worker(app)) {
            it[0] = app;
            ScriptedStream stream = harness.stream();
            stream.request(post("/").add("content-length", "3"), 0, false);
            stream.data(bytes("abcGET /evil HTTP/1.1\r\n\r\n"), true);
            assertThat(stream.gather().status()).isEqualTo("400");
            assertThat(app.takeHeard()).isEmpty();
            stream.request(post("/").add("content-length", "9"), 0, false);
            stream.data(bytes("abc"), true);
            assertThat(stream.gather().status()).isEqualTo("400");
        }
    }

    @Test
    void should_wait_for_the_app_to_ask_for_the_body() throws Exception {
        RawApp[] it = new RawApp[1];
        try (RawApp app = new RawApp(connection -> {
                    it[0].heard.add(connection.readHead());
                    connection.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n");
                    it[0].heard.add(connection.read(3));
                    connection.write(OK);
                    connection.awaitEnd();
                });
                Harness harness = worker(app)) {
            it[0] = app;
            ScriptedStream stream = harness.stream();
            stream.request(post("/").add("content-length", "3").add("expect", "100-continue"), 0, false);
            assertThat(app.takeHeard()).contains("expect: 100-continue\r\n");
            ScriptedStream.Interim hints = stream.take(ScriptedStream.Interim.class);
            assertThat(hints.headers().status()).hasToString("103");
            assertThat(hints.headers().get("link")).hasToString("</a>");
            assertThat(stream.take(ScriptedStream.Interim.class).headers().status())
                    .hasToString("100");
            stream.data(bytes("abc"), true);
            assertThat(app.takeHeard()).isEqualTo("abc");
            assertThat(stream.gather().text()).isEqualTo("ok");
        }
    }

    @Test
    void should_pass_on_a_refusal_that_comes_before_the_body() throws Exception {
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    connection.write("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno");
                    connection.awaitEnd();
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/").add("expect", "100-continue"), 0, false);
            Gathered answer = stream.gather();
            assertThat(answer.status()).isEqualTo("417");
            assertThat(app.takeEnded()).isEqualTo("returned");
        }
    }

    @Test
    void should_pass_on_an_answer_to_a_body_that_the_app_does_not_read() throws Exception {
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    connection.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
                    connection.socket.shutdownOutput();
                    connection.awaitEnd();
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), 0, false);
            for (int i = 0; i < 8; i++) {
                stream.data(new byte[16 * 1024], false);
            }
            assertThat(stream.gather().status()).isEqualTo("413");
            assertThat(app.takeEnded()).isEqualTo("returned");
            stream.cancel(ErrorCode.NOT_NEEDED);
            assertThat(stream.exchange(get("/")).status()).isEqualTo("413");
        }
    }

    @Test
    void should_close_the_connection_when_the_client_goes() throws Exception {
        RawApp[] it = new RawApp[1];
        try (RawApp app = new RawApp(connection -> {
                    it[0].heard.add(connection.readHead());
                    connection.awaitEnd();
                    it[0].heard.add("closed");
                });
                Harness harness = worker(app)) {
            it[0] = app;
            ScriptedStream stream = harness.stream();
            stream.request(get("/"), 0, true);
            assertThat(app.takeHeard()).startsWith("GET");
            stream.cancel(ErrorCode.CANCELLED);
            assertThat(app.takeHeard()).isEqualTo("closed");
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.CANCELLED);
        }
    }

    @Test
    void should_time_out_with_the_request_and_close_the_connection() throws Exception {
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    connection.write(OK);
                    connection.awaitEnd();
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            // Opens the connection, so that the next request is sent before its deadline.
            assertThat(stream.exchange(get("/")).text()).isEqualTo("ok");
            stream.request(get("/"), 50, true);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.TIMEOUT);
            assertThat(app.takeEnded()).isEqualTo("returned");
            assertThat(app.connections()).isEqualTo(1);
        }
    }

    @Test
    void should_answer_502_where_nobody_listens() throws Exception {
        RawApp gone = new RawApp(RawApp.Connection::awaitEnd);
        gone.close();
        try (Harness harness = worker(gone)) {
            Gathered answer = harness.stream().exchange(get("/"));
            assertThat(answer.status()).isEqualTo("502");
            // The address is only for the log.
            assertThat(answer.text()).isEqualTo("the application gave no valid response\n");
        }
    }

    @Test
    void should_repeat_a_request_that_met_a_closing_connection() throws Exception {
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    connection.write(OK);
                    // Closes with the next request unread in its buffer.
                    connection.in.read();
                    connection.reset();
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            for (int i = 0; i < 5; i++) {
                assertThat(stream.exchange(get("/")).text()).isEqualTo("ok");
            }
            assertThat(app.connections()).isEqualTo(5);
        }
    }

    @Test
    void should_never_repeat_what_may_have_had_effects() throws Exception {
        RawApp[] it = new RawApp[1];
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    connection.write(KEPT);
                    it[0].heard.add(connection.readHead());
                });
                Harness harness = worker(app)) {
            it[0] = app;
            ScriptedStream stream = harness.stream();
            assertThat(stream.exchange(get("/")).text()).isEqualTo("ok");
            assertThat(stream.exchange(post("/")).status()).isEqualTo("502");
            assertThat(app.takeHeard()).startsWith("POST");
            assertThat(app.connections()).isEqualTo(1);
        }
    }

    @Test
    void should_repeat_only_once() throws Exception {
        try (RawApp app = new RawApp(connection -> {
                    if (connection.index == 0) {
                        connection.readHead();
                        connection.write(OK);
                    }
                    connection.readHead();
                });
                Harness harness = worker(app)) {
            ScriptedStream stream = harness.stream();
            assertThat(stream.exchange(get("/")).text()).isEqualTo("ok");
            assertThat(stream.exchange(get("/")).status()).isEqualTo("502");
            assertThat(app.connections()).isEqualTo(2);
        }
    }

    @Test
    void should_refuse_a_connect_that_is_no_websocket() throws Exception {
        try (RawApp app = answering(OK);
                Harness harness = worker(app)) {
            assertThat(harness.stream().exchange(get("/").method("CONNECT")).status())
                    .isEqualTo("501");
            assertThat(app.connections()).isZero();
        }
    }

    @Test
    void should_remove_the_base_path_and_rename_the_authorization() throws Exception {
        try (RawApp app = answering(OK);
                Harness harness = new Harness(new WebHandler(app.builder()
                        .basePath("/orders")
                        .authorizationSource("X-Auth")
                        .build())::handle)) {
            ScriptedStream stream = harness.stream();
            stream.exchange(get("/orders/7?a=b").add("x-auth", "mine").add("authorization", "aws"));
            assertThat(app.takeHeard())
                    .startsWith("GET /7?a=b HTTP/1.1\r\n")
                    .contains("authorization: mine\r\n")
                    .doesNotContain("x-auth", "aws");
            stream.exchange(get("/orders").add("authorization", "aws"));
            assertThat(app.takeHeard()).startsWith("GET / HTTP/1.1\r\n").contains("authorization: aws\r\n");
            stream.exchange(get("/orders?x"));
            assertThat(app.takeHeard()).startsWith("GET /?x HTTP/1.1\r\n");
            stream.exchange(get("/orders2"));
            assertThat(app.takeHeard()).startsWith("GET /orders2 HTTP/1.1\r\n");
        }
    }
}
