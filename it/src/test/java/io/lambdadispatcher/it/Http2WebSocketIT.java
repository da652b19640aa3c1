package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.it.Http2Connection.Stream;
import io.lambdadispatcher.wire.testkit.Await;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.websocketx.BinaryWebSocketFrame;
import io.netty.handler.codec.http.websocketx.CloseWebSocketFrame;
import io.netty.handler.codec.http.websocketx.ContinuationWebSocketFrame;
import io.netty.handler.codec.http.websocketx.PingWebSocketFrame;
import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocket13FrameDecoder;
import io.netty.handler.codec.http.websocketx.WebSocket13FrameEncoder;
import io.netty.handler.codec.http.websocketx.WebSocketDecoderConfig;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** WebSocket over HTTP/2 (RFC 8441): many tunnels and ordinary requests on one connection. */
class Http2WebSocketIT {
    private static Rig rig;
    private static HttpClient pages;

    @BeforeAll
    static void start() {
        rig = Rig.start();
        pages = rig.client(HttpClient.Version.HTTP_1_1);
        rig.worker(2, 50, WebSocketIT.ECHO);
    }

    @AfterAll
    static void stop() throws Exception {
        rig.close();
    }

    @AfterEach
    void should_leave_nothing_behind() {
        rig.awaitAllFree();
    }

    private static Http2Headers connect(String path) {
        return new DefaultHttp2Headers(false)
                .method("CONNECT")
                .scheme("http")
                .authority("localhost")
                .path(path)
                .set(":protocol", "websocket")
                .set("sec-websocket-version", "13");
    }

    @Test
    void should_say_that_it_takes_extended_connect() throws Exception {
        try (Http2Connection connection = Http2Connection.to(rig)) {
            assertThat(connection.settings.get(60, TimeUnit.SECONDS).connectProtocolEnabled())
                    .isTrue();
        }
    }

    /** Sends WebSocket frames on a stream, with Netty's codec. */
    @Test
    void should_echo_messages_of_every_kind() throws Exception {
        try (Http2Connection connection = Http2Connection.to(rig)) {
            Http2Headers ask = connect("/ws").set("sec-websocket-protocol", "other, chat");
            Stream stream = connection.open(ask, false);
            Http2Headers head = stream.head();
            assertThat(head.status()).hasToString("200");
            assertThat(head.get("sec-websocket-protocol")).hasToString("chat");
            assertThat(head.get("sec-websocket-accept")).isNull();
            Frames frames = new Frames(stream);
            frames.send(new TextWebSocketFrame("gr\u00fc\u00df dich"));
            assertThat(frames.next(TextWebSocketFrame.class))
                    .isEqualTo("gr\u00fc\u00df dich".getBytes(StandardCharsets.UTF_8));
            for (int bytes : new int[] {0, 1, 125, 126, 65_535, 65_536, 1_000_000}) {
                byte[] message = new byte[bytes];
                new Random(bytes).nextBytes(message);
                frames.send(new BinaryWebSocketFrame(Unpooled.wrappedBuffer(message)));
                assertThat(frames.next(BinaryWebSocketFrame.class)).isEqualTo(message);
            }
            frames.send(new TextWebSocketFrame(false, 0, "one "));
            frames.send(new PingWebSocketFrame(Unpooled.copiedBuffer("between", StandardCharsets.US_ASCII)));
            frames.send(new ContinuationWebSocketFrame(true, 0, "two"));
            assertThat(frames.next(TextWebSocketFrame.class)).asString().isEqualTo("one ");
            assertThat(frames.next(WebSocketFrame.class)).asString().isEqualTo("between");
            assertThat(frames.next(ContinuationWebSocketFrame.class)).asString().isEqualTo("two");
            frames.send(new CloseWebSocketFrame(4001, "enough"));
            assertThat(frames.next(CloseWebSocketFrame.class)).startsWith(0x0f, 0xa1);
            stream.awaitEnd();
            stream.end();
            frames.close();
        }
    }

    /**
     * A server may ignore an upgrade (RFC 9110 section 7.8). An HTTP/2 client would take any 2xx
     * for an open tunnel (RFC 8441 section 5).
     */
    @Test
    void should_pass_on_the_response_of_an_application_that_ignores_the_upgrade() throws Exception {
        HttpServer app = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        app.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, 8);
            exchange.getResponseBody().write("ordinary".getBytes(StandardCharsets.US_ASCII));
            exchange.close();
        });
        app.start();
        try (Rig other = Rig.start()) {
            String port = Integer.toString(app.getAddress().getPort());
            other.worker(1, 2, Map.of("LAMBDA_DISPATCHER_WEB_PORT", port));
            for (int i = 0; i < 3; i++) {
                try (Socket socket = new Socket("127.0.0.1", other.plainPort())) {
                    socket.setSoTimeout(60_000);
                    String handshake = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
                    socket.getOutputStream().write(handshake.getBytes(StandardCharsets.US_ASCII));
                    String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
                    assertThat(answer).startsWith("HTTP/1.1 200 ").endsWith("\r\n\r\nordinary");
                    assertThat(answer).doesNotContain("not-switched");
                }
                try (Http2Connection connection = Http2Connection.to(other)) {
                    Http2Headers head = connection.open(connect("/"), false).head();
                    assertThat(head.status()).hasToString("502");
                    assertThat(head.contains("lambda-dispatcher-not-switched")).isFalse();
                }
            }
            other.awaitAllFree();
        } finally {
            app.stop(0);
        }
    }

    /** Encodes and decodes WebSocket frames between the test and a stream. */
    private static final class Frames {
        private final EmbeddedChannel codec = new EmbeddedChannel(
                new WebSocket13FrameDecoder(WebSocketDecoderConfig.newBuilder()
                        .expectMaskedFrames(false)
                        .maxFramePayloadLength(4 * 1024 * 1024)
                        .build()),
                new WebSocket13FrameEncoder(true));
        private final Stream stream;

        Frames(Stream stream) {
            this.stream = stream;
        }

        void send(WebSocketFrame frame) {
            codec.writeOutbound(frame);
            for (ByteBuf payload = codec.readOutbound(); payload != null; payload = codec.readOutbound()) {
                stream.send(payload, false);
            }
        }

        byte[] next(Class<? extends WebSocketFrame> type) throws Exception {
            WebSocketFrame frame = codec.readInbound();
            while (frame == null) {
                ByteBuf payload = stream.data.poll(60, TimeUnit.SECONDS);
                assertThat(payload).as("bytes").isNotNull();
                codec.writeInbound(payload);
                frame = codec.readInbound();
            }
            assertThat(frame).isInstanceOf(type);
            byte[] content = ByteBufUtil.getBytes(frame.content());
            frame.release();
            return content;
        }

        void close() {
            codec.finishAndReleaseAll();
        }
    }

    @Test
    void should_carry_many_tunnels_and_requests_on_one_connection() throws Exception {
        try (Http2Connection connection = Http2Connection.to(rig)) {
            List<Stream> all = new ArrayList<>();
            for (int i = 0; i < 60; i++) {
                all.add(connection.open(connect("/raw"), false));
            }
            for (int i = 0; i < all.size(); i++) {
                assertThat(all.get(i).status()).isEqualTo("200");
                all.get(i).send("tunnel " + i);
            }
            Stream page = connection.open(
                    new DefaultHttp2Headers(false)
                            .method("GET")
                            .scheme("http")
                            .authority("localhost")
                            .path("/seen"),
                    true);
            assertThat(page.status()).isEqualTo("200");
            page.awaitEnd();
            for (int i = 0; i < all.size(); i++) {
                String sent = "tunnel " + i;
                assertThat(all.get(i).text(sent.length())).isEqualTo(sent);
                all.get(i).end();
                all.get(i).awaitEnd();
            }
        }
    }

    @Test
    void should_outlive_the_request_timeout_once_it_is_open() throws Exception {
        FunctionOptions impatient =
                Rig.function().workerTimeout(Duration.ofSeconds(3)).build();
        try (Rig other = Rig.start(impatient, DispatcherObserver.NONE)) {
            other.worker(1, 4, WebSocketIT.ECHO);
            try (Http2Connection connection = Http2Connection.to(other)) {
                Stream stream = connection.open(connect("/raw"), false);
                assertThat(stream.status()).isEqualTo("200");
                Stream late = connection.open(connect("/late"), false);
                assertThat(late.status()).isEqualTo("504"); // So the earlier one has outlived its own.
                stream.send("still there");
                assertThat(stream.text(11)).isEqualTo("still there");
                stream.end();
            }
            other.awaitAllFree();
        }
    }

    @Test
    void should_end_each_direction_by_itself() throws Exception {
        try (Http2Connection connection = Http2Connection.to(rig)) {
            Stream echo = connection.open(connect("/raw"), false);
            echo.status();
            echo.send("to the end", true);
            assertThat(echo.text(10)).isEqualTo("to the end");
            echo.awaitEnd();

            int before = seen("end-after-end");
            Stream first = connection.open(connect("/first"), false);
            assertThat(first.text(3)).isEqualTo("bye");
            first.awaitEnd();
            first.send("late");
            Await.until("what came after the end is read", () -> seen("after-end-late") > 0);
            first.end();
            Await.until("the end is read", () -> seen("end-after-end") > before);
            assertThat(first.reset).isNotDone();
        }
    }

    @Test
    void should_cancel_when_the_client_resets() throws Exception {
        int before = seen("cancel-CANCELLED");
        try (Http2Connection connection = Http2Connection.to(rig)) {
            Stream stream = connection.open(connect("/raw"), false);
            stream.status();
            stream.channel.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.CANCEL));
            Await.until("CANCEL has come", () -> seen("cancel-CANCELLED") > before);
        }
    }

    /** The tunnel is also cancelled if the worker has already ended its direction. */
    @Test
    void should_cancel_when_the_connection_goes() throws Exception {
        int cancelled = seen("cancel-CANCELLED");
        int failed = seen("failed-after-end");
        try (Http2Connection connection = Http2Connection.to(rig)) {
            connection.open(connect("/raw"), false).status();
            Stream first = connection.open(connect("/first"), false);
            first.awaitEnd();
        }
        Await.until("CANCEL has come", () -> seen("cancel-CANCELLED") > cancelled);
        Await.until("the reader knows", () -> seen("failed-after-end") > failed);
    }

    /** RFC 9113 section 8.5: a CONNECT stream carries nothing but DATA. */
    @Test
    void should_reset_a_tunnel_with_trailers() throws Exception {
        try (Http2Connection connection = Http2Connection.to(rig)) {
            Stream stream = connection.open(connect("/raw"), false);
            stream.status();
            stream.sendTrailers(new DefaultHttp2Headers(false).set("x", "1"));
            assertThat(stream.reset.get(60, TimeUnit.SECONDS)).isEqualTo(Http2Error.PROTOCOL_ERROR.code());
        }
    }

    @Test
    void should_reset_tunnels_when_their_worker_dies() throws Exception {
        try (Rig other = Rig.start()) {
            Process worker = other.process(1, 4, WebSocketIT.ECHO);
            try (Http2Connection connection = Http2Connection.to(other)) {
                Stream open = connection.open(connect("/raw"), false);
                open.status();
                Stream first = connection.open(connect("/first"), false);
                first.awaitEnd();
                worker.destroyForcibly();
                assertThat(open.reset.get(60, TimeUnit.SECONDS)).isEqualTo(Http2Error.CANCEL.code());
                assertThat(first.reset.get(60, TimeUnit.SECONDS)).isEqualTo(Http2Error.CANCEL.code());
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "CONNECT, websocket, /refuse, 403",
        "CONNECT, quic, /raw, 501",
        "CONNECT, , , 501",
        "GET, websocket, /raw, 400",
        "CONNECT, websocket, /raw#x, 400"
    })
    void should_answer_what_it_does_not_serve(String method, String protocol, String path, String status)
            throws Exception {
        try (Http2Connection connection = Http2Connection.to(rig)) {
            Http2Headers head = new DefaultHttp2Headers(false).method(method).authority("localhost");
            if (path != null) {
                head.scheme("http").path(path);
            }
            if (protocol != null) {
                head.set(":protocol", protocol);
            }
            Stream stream = connection.open(head, false);
            assertThat(stream.status()).isEqualTo(status);
            stream.awaitEnd();
        }
    }

    /** RFC 8441 section 4: an extended CONNECT must have both, unlike an ordinary CONNECT. */
    @Test
    void should_reset_an_extended_connect_without_scheme_and_path() throws Exception {
        try (Http2Connection connection = Http2Connection.to(rig)) {
            Http2Headers head = new DefaultHttp2Headers(false)
                    .method("CONNECT")
                    .authority("localhost")
                    .set(":protocol", "websocket");
            assertThat(connection.open(head, false).reset.get(60, TimeUnit.SECONDS))
                    .isEqualTo(Http2Error.PROTOCOL_ERROR.code());
        }
    }

    /**
     * Ends tunnels in random ways. Echoed bytes must be equal to the sent bytes, and in the end
     * every worker stream must be free.
     */
    @Test
    void should_come_to_rest_in_whatever_order_tunnels_end() throws Exception {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        String[] paths = {"/raw", "/raw", "/ws", "/first", "/flood", "/refuse"};
        for (int round = 0; round < 20; round++) {
            try (Http2Connection connection = Http2Connection.to(rig)) {
                List<Stream> streams = new ArrayList<>();
                for (int i = 0; i < 60; i++) {
                    streams.add(connection.open(connect(paths[random.nextInt(paths.length)]), random.nextInt(20) == 0));
                }
                for (int step = 0; step < 200; step++) {
                    Stream stream = streams.get(random.nextInt(streams.size()));
                    if (!stream.channel.isActive()) {
                        continue;
                    }
                    switch (random.nextInt(6)) {
                        case 0 -> stream.end();
                        case 1 -> stream.channel.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.CANCEL));
                        case 2 ->
                            stream.send(
                                    Unpooled.wrappedBuffer(new byte[random.nextInt(100_000)]), random.nextBoolean());
                        default -> stream.send("x".repeat(random.nextInt(100)));
                    }
                }
                // The last tunnel on the connection behaves well.
                Stream honest = connection.open(connect("/raw"), false);
                assertThat(honest.status()).as("seed " + seed).isEqualTo("200");
                honest.send("alive", true);
                assertThat(honest.text(5)).as("seed " + seed).isEqualTo("alive");
            }
            rig.awaitAllFree();
            assertThat(rig.pool().streams()).as("seed " + seed).isEqualTo(100);
        }
    }

    private static int seen(String what) {
        try {
            String all = pages.send(HttpRequest.newBuilder(rig.http("/seen")).build(), BodyHandlers.ofString())
                    .body();
            return WebSocketIT.count(all, what);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
