package io.lambdadispatcher.worker.adapter.web;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.http.TunnelHead;
import io.lambdadispatcher.wire.http.WebSocketKey;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedStream;
import io.lambdadispatcher.worker.ScriptedStream.Gathered;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(180)
class WebSocketTunnelTest {
    private static final Pattern KEY = Pattern.compile("sec-websocket-key: (\\S+)\r\n");

    private static Http2Headers connect() {
        return get("/chat")
                .method("CONNECT")
                .set(":protocol", "websocket")
                .add("sec-websocket-version", "13")
                .add("sec-websocket-protocol", "chat");
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static String accept(String head) {
        Matcher key = KEY.matcher(head);
        assertThat(key.find()).isTrue();
        return new WebSocketKey(AsciiString.of(key.group(1))).accept();
    }

    @Test
    void should_compute_the_accept_value_of_the_rfc() {
        assertThat(new WebSocketKey(AsciiString.of("dGhlIHNhbXBsZSBub25jZQ==")).accept())
                .isEqualTo("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    @Test
    void should_become_a_tunnel_until_the_app_closes() throws Exception {
        RawApp[] it = new RawApp[1];
        try (RawApp app = new RawApp(connection -> {
                    String head = connection.readHead();
                    it[0].heard.add(head);
                    connection.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: upgrade\r\n"
                            + "Sec-WebSocket-Protocol: chat\r\nSec-WebSocket-Accept: " + accept(head)
                            + "\r\n\r\nfirst");
                    it[0].heard.add(connection.read(4));
                    connection.write("HTTP/1.1 200 are bytes");
                });
                Harness harness = new Harness(new WebHandler(app.config())::handle)) {
            it[0] = app;
            ScriptedStream stream = harness.stream();
            stream.request(connect(), 0, false);
            assertThat(app.takeHeard())
                    .startsWith("GET /chat HTTP/1.1\r\nhost: example\r\n")
                    .contains("connection: Upgrade\r\n", "upgrade: websocket\r\n")
                    .contains("sec-websocket-version: 13\r\n", "sec-websocket-protocol: chat\r\n")
                    .doesNotContain("transfer-encoding", ":protocol");
            stream.data(bytes("ping"), false);
            assertThat(app.takeHeard()).isEqualTo("ping");
            Gathered answer = stream.gather();
            assertThat(answer.status()).isEqualTo("200");
            assertThat(answer.text()).isEqualTo("firstHTTP/1.1 200 are bytes");
            Http2Headers fields = answer.head().headers();
            assertThat(fields.get("sec-websocket-protocol")).hasToString("chat");
            assertThat(fields.contains("sec-websocket-accept")).isFalse();
            assertThat(fields.contains("upgrade")).isFalse();
            assertThat(fields.contains("connection")).isFalse();
        }
    }

    @Test
    void should_pass_on_the_clients_half_close() throws Exception {
        RawApp[] it = new RawApp[1];
        try (RawApp app = new RawApp(connection -> {
                    String head = connection.readHead();
                    connection.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            + "Sec-WebSocket-Accept: " + accept(head) + "\r\n\r\n");
                    it[0].heard.add(new String(connection.in.readAllBytes(), StandardCharsets.ISO_8859_1));
                    connection.write("bye");
                });
                Harness harness = new Harness(new WebHandler(app.config())::handle)) {
            it[0] = app;
            ScriptedStream stream = harness.stream();
            stream.request(connect(), 0, false);
            stream.data(bytes("last words"), true);
            assertThat(app.takeHeard()).isEqualTo("last words");
            assertThat(stream.gather().text()).isEqualTo("bye");
        }
    }

    /**
     * The data fills all windows and is not read. Even so, the worker stream must be free for the
     * next request.
     */
    @Test
    void should_drop_what_the_client_goes_on_to_send_when_the_app_has_ended() throws Exception {
        RawApp[] it = new RawApp[1];
        try (RawApp app = new RawApp(connection -> {
                    String head = connection.readHead();
                    if (!head.contains("upgrade")) {
                        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext");
                        return;
                    }
                    connection.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            + "Sec-WebSocket-Accept: " + accept(head) + "\r\n\r\n");
                    it[0].takeHeard();
                    connection.socket.shutdownOutput();
                    it[0].takeHeard();
                });
                Harness harness = new Harness(new WebHandler(app.config())::handle)) {
            it[0] = app;
            ScriptedStream stream = harness.stream();
            stream.request(connect(), 0, false);
            stream.take(ScriptedStream.Head.class);
            stream.data(new byte[8 << 20], false);
            stream.data(new byte[1], true);
            app.heard.add("enough");
            assertThat(stream.take(ScriptedStream.Data.class).end()).isTrue();
            assertThat(stream.exchange(get("/next")).text()).isEqualTo("next");
            app.heard.add("end");
        }
    }

    @Test
    void should_close_the_apps_side_when_the_client_goes() throws Exception {
        try (RawApp app = new RawApp(connection -> {
                    String head = connection.readHead();
                    connection.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            + "Sec-WebSocket-Accept: " + accept(head) + "\r\n\r\n");
                    connection.awaitEnd();
                });
                Harness harness = new Harness(new WebHandler(app.config())::handle)) {
            ScriptedStream stream = harness.stream();
            stream.request(connect(), 0, false);
            stream.take(ScriptedStream.Head.class);
            stream.cancel(ErrorCode.CANCELLED);
            assertThat(app.takeEnded()).isEqualTo("returned");
        }
    }

    @Test
    void should_pass_on_a_refusal() throws Exception {
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    connection.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
                    connection.awaitEnd();
                });
                Harness harness = new Harness(new WebHandler(app.config())::handle)) {
            ScriptedStream stream = harness.stream();
            stream.request(connect(), 0, false);
            Gathered answer = stream.gather();
            assertThat(answer.status()).isEqualTo("403");
            assertThat(answer.text()).isEqualTo("no");
        }
    }

    /** A server may ignore an upgrade (RFC 9110 section 7.8). There is no tunnel then. */
    @ParameterizedTest
    @CsvSource({
        "200 OK, Content-Length: 2, ok",
        "204 No Content, X-A: 1, ''",
        "299 Other, Transfer-Encoding: chunked, ok",
        "200 OK, Connection: close, ok",
    })
    void should_pass_on_the_ordinary_response_of_an_app_that_ignores_the_upgrade(
            String status, String header, String body) throws Exception {
        String sent = header.endsWith("chunked") ? "2\r\nok\r\n0\r\n\r\n" : body;
        try (RawApp app = new RawApp(connection -> {
                    while (!connection.readHead().isEmpty()) {
                        connection.write("HTTP/1.1 " + status + "\r\n" + header + "\r\n\r\n" + sent);
                        if (header.endsWith("close")) {
                            return;
                        }
                    }
                });
                Harness harness = new Harness(new WebHandler(app.config())::handle)) {
            ScriptedStream stream = harness.stream();
            stream.request(connect(), 0, false);
            Gathered answer = stream.gather();
            assertThat(answer.status()).isEqualTo(status.substring(0, 3));
            assertThat(answer.text()).isEqualTo(body);
            assertThat(answer.head().headers().contains(TunnelHead.NOT_SWITCHED))
                    .isTrue();
            stream.cancel(ErrorCode.NOT_NEEDED);
            assertThat(stream.exchange(get("/next")).text()).isEqualTo(body);
        }
    }

    @Test
    void should_not_open_for_an_app_that_does_not_know_websockets() throws Exception {
        for (String answer : new String[] {
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"
        }) {
            try (RawApp app = new RawApp(connection -> {
                        connection.readHead();
                        connection.write(answer);
                        connection.awaitEnd();
                    });
                    Harness harness = new Harness(new WebHandler(app.config())::handle)) {
                ScriptedStream stream = harness.stream();
                stream.request(connect(), 0, false);
                assertThat(stream.gather().status()).isEqualTo("502");
            }
        }
    }
}
