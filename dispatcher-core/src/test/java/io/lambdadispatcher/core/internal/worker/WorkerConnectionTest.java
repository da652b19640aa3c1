package io.lambdadispatcher.core.internal.worker;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.testkit.HostileText;
import io.lambdadispatcher.wire.worker.ControlCodec;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.wire.worker.Endpoints;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.lambdadispatcher.wire.worker.HeadEncoder;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.lambdadispatcher.wire.worker.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2FrameTypes;
import io.netty.handler.codec.http2.Http2Headers;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Errors of the dispatcher on a worker's connection. Its client and its worker are on one loop. */
class WorkerConnectionTest {
    private static final byte[] KEY = LaunchToken.key("sixteen bytes at least".getBytes(StandardCharsets.UTF_8), "f");
    private static final Duration NEVER = Duration.ofDays(1);
    private static final int META_BYTES = 256;

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final FunctionPool pool =
            new FunctionPool(FunctionOptions.of("f"), List.of(channel.eventLoop()), DispatcherObserver.NONE);
    private final String token = new LaunchToken("f", "w", Instant.now().plusSeconds(60)).sign(KEY);
    private final ControlCodec codec = new ControlCodec(ControlCodec.Role.WORKER, token);
    private final DefaultHttp2HeadersEncoder hpack = new DefaultHttp2HeadersEncoder();
    private final List<String> partings = new ArrayList<>();

    /** Whether there is no memory for the next buffer of the size of a frame's header. */
    private boolean scarce;

    private final class Events implements WorkerEvents {
        @Override
        public @Nullable Refusal admit(LaunchToken launched, WorkerConnection connection, boolean expired) {
            return null;
        }

        @Override
        public List<String> peers() {
            return List.of();
        }

        @Override
        public void onHello(WorkerConnection connection, ControlMessage.Hello hello) {}

        @Override
        public void onReadiness(WorkerConnection connection, boolean ready) {}

        @Override
        public void onLoad(WorkerConnection connection, ControlMessage.Load load) {}

        @Override
        public void onDrain(WorkerConnection connection, DrainCode reason) {}

        @Override
        public void onGone(WorkerConnection connection, boolean clean, String reason) {
            partings.add(reason);
        }
    }

    private static class Client extends SilentClient {
        int taken;

        @Nullable
        Failure failure;

        @Override
        public void onRequestTaken(int bytes) {
            taken += bytes;
        }

        @Override
        public void onFailure(Failure cause) {
            failure = cause;
        }
    }

    @BeforeEach
    void connect() throws Exception {
        channel.config().setAllocator((ByteBufAllocator) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {ByteBufAllocator.class}, (self, call, args) -> {
                    if (scarce && call.getName().equals("directBuffer") && args[0].equals(META_BYTES)) {
                        scarce = false;
                        throw new InternalError("no more memory for the test");
                    }
                    try {
                        return call.invoke(UnpooledByteBufAllocator.DEFAULT, args);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
        channel.pipeline()
                .addLast(new WorkerPort(
                        new WorkerPort.Access(function -> List.of(KEY), null, NEVER, NEVER, NEVER, ""),
                        Map.of("f", pool),
                        Map.of(channel.eventLoop(), 0),
                        new Events(),
                        DispatcherObserver.NONE));
        ByteBuf noWindow = Unpooled.buffer().writeShort(4).writeInt(0);
        channel.writeInbound(Http2CodecUtil.connectionPrefaceBuf(), frame(Http2FrameTypes.SETTINGS, 0, noWindow));
        open(1, Endpoints.CONTROL_PATH);
        say(new ControlMessage.Hello(
                WireLimits.OLDEST_VERSION, WireLimits.PROTOCOL_VERSION, 2, -1, "script", "7", "its log", ""));
        say(new ControlMessage.Readiness(true));
        open(3, Endpoints.STREAM_PATH);
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private static ByteBuf frame(int type, int stream, ByteBuf payload) {
        int flags = type == Http2FrameTypes.HEADERS ? 0x4 : 0;
        ByteBuf frame = Unpooled.buffer();
        frame.writeMedium(payload.readableBytes())
                .writeByte(type)
                .writeByte(flags)
                .writeInt(stream);
        return frame.writeBytes(payload);
    }

    private void open(int stream, CharSequence path) throws Exception {
        Http2Headers head = new DefaultHttp2Headers()
                .method("POST")
                .scheme("http")
                .authority("d")
                .path(path)
                .set("authorization", Endpoints.BEARER + token);
        ByteBuf block = Unpooled.buffer();
        hpack.encodeHeaders(stream, head, block);
        channel.writeInbound(frame(Http2FrameTypes.HEADERS, stream, block));
    }

    private void say(ControlMessage message) {
        ByteBuf out = Unpooled.buffer();
        codec.write(out, message);
        channel.writeInbound(frame(Http2FrameTypes.DATA, 1, out));
    }

    private void openWindow(int stream, int bytes) {
        channel.writeInbound(
                frame(Http2FrameTypes.WINDOW_UPDATE, stream, Unpooled.buffer().writeInt(bytes)));
    }

    private Exchange post(Client client) {
        Http2Headers head = new DefaultHttp2Headers()
                .method("POST")
                .scheme("http")
                .authority("a")
                .path("/");
        return pool.shard(0).open(head, false, client, TrafficPolicy.NEUTRAL);
    }

    private static ByteBuf part(int bytes) {
        return Unpooled.wrappedBuffer(new byte[bytes]);
    }

    /** Returns what was sent: the type of each frame, and its stream. */
    private List<String> sent() {
        ByteBuf all = Unpooled.buffer();
        for (ByteBuf out = channel.readOutbound(); out != null; out = channel.readOutbound()) {
            all.writeBytes(out);
            out.release();
        }
        List<String> frames = new ArrayList<>();
        while (all.isReadable()) {
            int bytes = all.readUnsignedMedium();
            frames.add(all.readByte() + " " + all.skipBytes(1).readInt());
            all.skipBytes(bytes);
        }
        return frames;
    }

    /** The worker would take a body without these parts for the complete one. */
    @Test
    void should_reset_the_stream_if_there_is_no_memory_to_send_parts_that_have_waited() throws Exception {
        Client client = new Client();
        Exchange exchange = post(client);
        exchange.data(part(1000), false);
        exchange.data(part(1000), false);
        while (client.taken == 0) {
            openWindow(3, 1);
        }
        // Another request uses the buffers that were used for the first part.
        open(5, Endpoints.STREAM_PATH);
        Exchange other = post(new Client());
        other.data(part(1), false);
        sent();

        scarce = true;
        openWindow(3, 10_000);
        assertThat(scarce).as("has not run out of memory").isFalse();
        assertThat(client.taken).isEqualTo(1000);
        assertThat(client.failure).isNotNull();
        assertThat(client.failure.kind()).isEqualTo(Failure.Kind.WORKER_LOST);
        exchange.data(part(1), true);
        assertThat(sent()).containsExactly(Http2FrameTypes.DATA + " 3", Http2FrameTypes.RST_STREAM + " 3");
    }

    @Test
    void should_log_an_unexpected_error_and_name_it_as_the_reason() throws Exception {
        Logger logger = (Logger) LoggerFactory.getLogger(WorkerPortHandler.class);
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.start();
        logger.addAppender(lines);
        logger.setAdditive(false);
        post(new Client() {
            @Override
            public void onHead(Http2Headers head, boolean end) {
                throw new IllegalStateException("a bug");
            }
        });
        open(5, Endpoints.STREAM_PATH);
        Client other = new Client();
        post(other);
        ByteBuf out = Unpooled.buffer();
        FrameWriter.writeResponseHead(out, new HeadEncoder(), new DefaultHttp2Headers().status("200"), false);
        channel.writeInbound(frame(Http2FrameTypes.DATA, 3, out));
        channel.advanceTimeBy(1, TimeUnit.MINUTES);
        channel.runScheduledPendingTasks();
        logger.detachAppender(lines);
        logger.setAdditive(true);

        String reason = "unexpected error in the dispatcher: java.lang.IllegalStateException: a bug";
        assertThat(partings).containsExactly(reason);
        assertThat(other.failure).isNotNull();
        assertThat(other.failure.detail()).isEqualTo("the worker was lost: " + reason);
        assertThat(lines.list)
                .filteredOn(line -> line.getLevel() == Level.ERROR)
                .hasSize(1);
        assertThat(lines.list.get(0).getFormattedMessage()).endsWith(": unexpected, the connection is closed");
        assertThat(lines.list.get(0).getThrowableProxy().getMessage()).isEqualTo("a bug");
    }

    /** Embedding programs pass these texts to observers, clients and logs of their own. */
    @Test
    void should_make_what_the_worker_says_printable() throws Exception {
        Client client = new Client();
        post(client);
        ByteBuf reset = Unpooled.buffer();
        FrameWriter.writeReset(reset, ErrorCode.HANDLER_FAILED, HostileText.ALL_KINDS);
        channel.writeInbound(frame(Http2FrameTypes.DATA, 3, reset));
        say(new ControlMessage.Goodbye(HostileText.ALL_KINDS));
        channel.close();

        assertThat(client.failure).isNotNull();
        assertThat(client.failure.detail())
                .startsWith("the handler failed: a\\u000ab")
                .matches(HostileText::isPrintable);
        assertThat(partings)
                .singleElement()
                .asString()
                .startsWith("the worker said goodbye: a\\u000ab")
                .matches(HostileText::isPrintable);
    }
}
