package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.DispatcherObserver;
import io.lambdadispatcher.core.FunctionOptions;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.websocketx.BinaryWebSocketFrame;
import io.netty.handler.codec.http.websocketx.CloseWebSocketFrame;
import io.netty.handler.codec.http.websocketx.ContinuationWebSocketFrame;
import io.netty.handler.codec.http.websocketx.PingWebSocketFrame;
import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocket13FrameDecoder;
import io.netty.handler.codec.http.websocketx.WebSocket13FrameEncoder;
import io.netty.handler.codec.http.websocketx.WebSocketDecoderConfig;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2ResetFrame;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2SettingsFrame;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.handler.codec.http2.Http2StreamChannelBootstrap;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** WebSocket over HTTP/2 (RFC 8441): many tunnels and ordinary requests on one connection. */
class Http2WebSocketIT {
    private static final MultiThreadIoEventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());

    private static Rig rig;

    @BeforeAll
    static void start() {
        FunctionOptions impatient = FunctionOptions.of("demo").withRequestTimeout(Duration.ofSeconds(1));
        rig = Rig.start(impatient, DispatcherObserver.NONE);
        rig.worker(2, 50, WebSocketIT.ECHO);
    }

    @AfterAll
    static void stop() throws Exception {
        rig.close();
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    @AfterEach
    void should_leave_nothing_behind() {
        rig.awaitAllFree();
    }

    /** One HTTP/2 connection, plain, with prior knowledge. */
    private static final class Connection implements AutoCloseable {
        final CompletableFuture<Http2Settings> settings = new CompletableFuture<>();
        private final Channel channel;

        Connection(Rig to) throws Exception {
            channel = new Bootstrap()
                    .group(loops)
                    .channel(NioSocketChannel.class)
                    .handler(new ChannelInitializer<>() {
                        @Override
                        protected void initChannel(Channel made) {
                            made.pipeline()
                                    .addLast(
                                            Http2FrameCodecBuilder.forClient().build(),
                                            new ChannelInboundHandlerAdapter() {
                                                @Override
                                                public void channelRead(ChannelHandlerContext ctx, Object message) {
                                                    if (message instanceof Http2SettingsFrame frame) {
                                                        settings.complete(frame.settings());
                                                    }
                                                    ctx.fireChannelRead(message);
                                                }
                                            },
                                            new Http2MultiplexHandler(new ChannelInboundHandlerAdapter()));
                        }
                    })
                    .connect("127.0.0.1", to.plainPort())
                    .sync()
                    .channel();
        }

        Stream open(Http2Headers head, boolean end) throws Exception {
            Stream stream = new Stream();
            stream.channel = new Http2StreamChannelBootstrap(channel)
                    .handler(stream)
                    .open()
                    .sync()
                    .getNow();
            stream.channel
                    .writeAndFlush(new DefaultHttp2HeadersFrame(head, end))
                    .sync();
            return stream;
        }

        Stream open(String path) throws Exception {
            return open(connect(path), false);
        }

        @Override
        public void close() throws Exception {
            channel.close().sync();
        }
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

    /** One stream of it, with what has come. */
    private static final class Stream extends SimpleChannelInboundHandler<Object> {
        final CompletableFuture<Http2Headers> head = new CompletableFuture<>();
        final CompletableFuture<Long> reset = new CompletableFuture<>();
        final CompletableFuture<Void> ended = new CompletableFuture<>();
        final BlockingQueue<ByteBuf> data = new LinkedBlockingQueue<>();
        Http2StreamChannel channel;

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, Object message) {
            if (message instanceof Http2HeadersFrame frame) {
                assertThat(head.complete(frame.headers())).as("one head").isTrue();
                endIf(frame.isEndStream());
            } else if (message instanceof Http2DataFrame frame) {
                if (frame.content().isReadable()) {
                    data.add(Unpooled.copiedBuffer(frame.content()));
                }
                endIf(frame.isEndStream());
            }
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            if (event instanceof Http2ResetFrame frame) {
                reset.complete(frame.errorCode());
            }
        }

        private void endIf(boolean end) {
            if (end) {
                ended.complete(null);
            }
        }

        String status() throws Exception {
            return head.get(20, TimeUnit.SECONDS).status().toString();
        }

        void send(ByteBuf octets, boolean end) {
            channel.writeAndFlush(new DefaultHttp2DataFrame(octets, end));
        }

        void send(String text) {
            send(ByteBufUtil.writeAscii(io.netty.buffer.UnpooledByteBufAllocator.DEFAULT, text), false);
        }

        String text(int length) throws Exception {
            StringBuilder all = new StringBuilder();
            while (all.length() < length) {
                ByteBuf next = data.poll(20, TimeUnit.SECONDS);
                assertThat(next).as("octets after '" + all + "'").isNotNull();
                all.append(next.toString(StandardCharsets.US_ASCII));
            }
            return all.toString();
        }

        void end() {
            send(Unpooled.EMPTY_BUFFER, true);
        }
    }

    @Test
    void should_say_that_it_takes_extended_connect() throws Exception {
        try (Connection connection = new Connection(rig)) {
            assertThat(connection.settings.get(20, TimeUnit.SECONDS).connectProtocolEnabled())
                    .isTrue();
        }
    }

    /** WebSocket frames over a stream, by Netty's codec. */
    @Test
    void should_echo_messages_of_every_kind() throws Exception {
        try (Connection connection = new Connection(rig)) {
            Http2Headers ask = connect("/ws").set("sec-websocket-protocol", "other, chat");
            Stream stream = connection.open(ask, false);
            assertThat(stream.status()).isEqualTo("200");
            assertThat(stream.head.get().get("sec-websocket-protocol")).hasToString("chat");
            assertThat(stream.head.get().get("sec-websocket-accept")).isNull();
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
            stream.ended.get(20, TimeUnit.SECONDS);
            stream.end();
            frames.close();
        }
    }

    /** The codec on a channel of its own, between the test and a stream. */
    private static final class Frames {
        private final io.netty.channel.embedded.EmbeddedChannel codec = new io.netty.channel.embedded.EmbeddedChannel(
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
            for (ByteBuf octets = codec.readOutbound(); octets != null; octets = codec.readOutbound()) {
                stream.send(octets, false);
            }
        }

        byte[] next(Class<? extends WebSocketFrame> type) throws Exception {
            WebSocketFrame frame = codec.readInbound();
            while (frame == null) {
                ByteBuf octets = stream.data.poll(20, TimeUnit.SECONDS);
                assertThat(octets).as("octets").isNotNull();
                codec.writeInbound(octets);
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
        try (Connection connection = new Connection(rig)) {
            List<Stream> all = new ArrayList<>();
            for (int i = 0; i < 60; i++) {
                all.add(connection.open("/raw"));
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
            page.ended.get(20, TimeUnit.SECONDS);
            for (int i = 0; i < all.size(); i++) {
                String sent = "tunnel " + i;
                assertThat(all.get(i).text(sent.length())).isEqualTo(sent);
                all.get(i).end();
                all.get(i).ended.get(20, TimeUnit.SECONDS);
            }
        }
    }

    @Test
    void should_outlive_the_request_timeout_once_it_is_open() throws Exception {
        try (Connection connection = new Connection(rig)) {
            Stream late = connection.open("/late");
            Stream stream = connection.open("/raw");
            assertThat(stream.status()).isEqualTo("200");
            assertThat(late.status()).isEqualTo("504");
            TimeUnit.MILLISECONDS.sleep(1500);
            stream.send("still there");
            assertThat(stream.text(11)).isEqualTo("still there");
            stream.end();
        }
    }

    @Test
    void should_end_each_direction_by_itself() throws Exception {
        try (Connection connection = new Connection(rig)) {
            Stream echo = connection.open("/raw");
            echo.status();
            echo.send(ByteBufUtil.writeAscii(io.netty.buffer.UnpooledByteBufAllocator.DEFAULT, "to the end"), true);
            assertThat(echo.text(10)).isEqualTo("to the end");
            echo.ended.get(20, TimeUnit.SECONDS);

            int before = seen("end-after-end");
            Stream first = connection.open("/first");
            assertThat(first.text(3)).isEqualTo("bye");
            first.ended.get(20, TimeUnit.SECONDS);
            first.send("late");
            Rig.await("what came after the end is read", () -> seen("after-end-late") > 0);
            first.end();
            Rig.await("the end is read", () -> seen("end-after-end") > before);
            assertThat(first.reset).isNotDone();
        }
    }

    @Test
    void should_cancel_when_the_client_resets() throws Exception {
        int before = seen("cancel-CANCELLED");
        try (Connection connection = new Connection(rig)) {
            Stream stream = connection.open("/raw");
            stream.status();
            stream.channel.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.CANCEL));
            Rig.await("CANCEL has come", () -> seen("cancel-CANCELLED") > before);
        }
    }

    /** Also where the worker has ended its direction already. */
    @Test
    void should_cancel_when_the_connection_goes() throws Exception {
        int cancelled = seen("cancel-CANCELLED");
        int failed = seen("failed-after-end");
        try (Connection connection = new Connection(rig)) {
            connection.open("/raw").status();
            Stream first = connection.open("/first");
            first.ended.get(20, TimeUnit.SECONDS);
        }
        Rig.await("CANCEL has come", () -> seen("cancel-CANCELLED") > cancelled);
        Rig.await("the reader knows", () -> seen("failed-after-end") > failed);
    }

    /** RFC 9113 section 8.5: a CONNECT stream carries nothing but DATA. */
    @Test
    void should_reset_a_tunnel_with_trailers() throws Exception {
        try (Connection connection = new Connection(rig)) {
            Stream stream = connection.open("/raw");
            stream.status();
            stream.channel.writeAndFlush(
                    new DefaultHttp2HeadersFrame(new DefaultHttp2Headers(false).set("x", "1"), true));
            assertThat(stream.reset.get(20, TimeUnit.SECONDS)).isEqualTo(Http2Error.PROTOCOL_ERROR.code());
        }
    }

    @Test
    void should_reset_tunnels_when_their_worker_dies() throws Exception {
        try (Rig other = Rig.start()) {
            Process worker = other.worker(1, 4, WebSocketIT.ECHO);
            try (Connection connection = new Connection(other)) {
                Stream open = connection.open("/raw");
                open.status();
                Stream first = connection.open("/first");
                first.ended.get(20, TimeUnit.SECONDS);
                worker.destroyForcibly();
                assertThat(open.reset.get(20, TimeUnit.SECONDS)).isEqualTo(Http2Error.CANCEL.code());
                assertThat(first.reset.get(20, TimeUnit.SECONDS)).isEqualTo(Http2Error.CANCEL.code());
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
        try (Connection connection = new Connection(rig)) {
            Http2Headers head = new DefaultHttp2Headers(false).method(method).authority("localhost");
            if (path != null) {
                head.scheme("http").path(path);
            }
            if (protocol != null) {
                head.set(":protocol", protocol);
            }
            Stream stream = connection.open(head, false);
            assertThat(stream.status()).isEqualTo(status);
            stream.ended.get(20, TimeUnit.SECONDS);
        }
    }

    /** RFC 8441 section 4: they are no longer left out. */
    @Test
    void should_reset_an_extended_connect_without_scheme_and_path() throws Exception {
        try (Connection connection = new Connection(rig)) {
            Http2Headers head = new DefaultHttp2Headers(false)
                    .method("CONNECT")
                    .authority("localhost")
                    .set(":protocol", "websocket");
            assertThat(connection.open(head, false).reset.get(20, TimeUnit.SECONDS))
                    .isEqualTo(Http2Error.PROTOCOL_ERROR.code());
        }
    }

    private static int seen(String what) {
        try {
            String all = rig.client(HttpClient.Version.HTTP_1_1)
                    .send(HttpRequest.newBuilder(rig.http("/seen")).build(), BodyHandlers.ofString())
                    .body();
            return WebSocketIT.count(all, what);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
