package io.lambdadispatcher.core.internal.worker;

import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.worker.ControlCodec;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.wire.worker.Endpoints;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.lambdadispatcher.wire.worker.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2FrameTypes;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A worker that is ready, and the dispatcher's end of its connection. The test runs their event
 * loop step by step, and writes the bytes of the worker. Clients are on the same loop.
 */
final class EmbeddedWorker implements AutoCloseable {
    /** Receives a frame that the dispatcher has sent. */
    interface Taker {
        /** @param payload valid only during the call */
        void take(int type, int stream, ByteBuf payload) throws Exception;
    }

    private static final byte[] KEY = LaunchToken.key("sixteen bytes at least".getBytes(StandardCharsets.UTF_8), "f");
    private static final Duration NEVER = Duration.ofDays(1);

    final EmbeddedChannel channel = new EmbeddedChannel();

    /** Why the dispatcher has closed the connection. */
    final List<String> partings = new ArrayList<>();

    private final FunctionPool pool =
            new FunctionPool(FunctionOptions.of("f"), List.of(channel.eventLoop()), DispatcherObserver.NONE);
    private final String token = new LaunchToken("f", "w", Instant.now().plusSeconds(60)).sign(KEY);
    private final ControlCodec codec = new ControlCodec(ControlCodec.Role.WORKER, token);
    private final DefaultHttp2HeadersEncoder hpack = new DefaultHttp2HeadersEncoder();

    /**
     * @param windowBytes the window of each stream for requests
     * @param streams announced in HELLO; {@link #open} opens them
     */
    EmbeddedWorker(ByteBufAllocator allocator, int windowBytes, int streams) throws Exception {
        channel.config().setAllocator(allocator);
        channel.pipeline()
                .addLast(new WorkerPort(
                        new WorkerPort.Access(
                                function -> List.of(KEY), "", PortIdentities.NONE, NEVER, NEVER, NEVER, ""),
                        Map.of("f", pool),
                        Map.of(channel.eventLoop(), 0),
                        new Events(),
                        DispatcherObserver.NONE,
                        Incidents.unobserved()));
        ByteBuf window = Unpooled.buffer().writeShort(4).writeInt(windowBytes);
        channel.writeInbound(Http2CodecUtil.connectionPrefaceBuf(), frame(Http2FrameTypes.SETTINGS, 0, window));
        open(1, Endpoints.CONTROL_PATH);
        say(new ControlMessage.Hello(
                WireLimits.OLDEST_VERSION, WireLimits.PROTOCOL_VERSION, streams, -1, "script", "7", "its log", ""));
        say(new ControlMessage.Readiness(true));
    }

    static ByteBuf frame(int type, int stream, ByteBuf payload) {
        int flags = type == Http2FrameTypes.HEADERS ? 0x4 : 0;
        ByteBuf frame = Unpooled.buffer();
        frame.writeMedium(payload.readableBytes())
                .writeByte(type)
                .writeByte(flags)
                .writeInt(stream);
        return frame.writeBytes(payload);
    }

    /** Opens a worker stream. */
    void open(int stream) throws Exception {
        open(stream, Endpoints.STREAM_PATH);
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

    void say(ControlMessage message) {
        ByteBuf out = Unpooled.buffer();
        codec.write(out, message);
        channel.writeInbound(frame(Http2FrameTypes.DATA, 1, out));
    }

    void openWindow(int stream, int bytes) {
        channel.writeInbound(
                frame(Http2FrameTypes.WINDOW_UPDATE, stream, Unpooled.buffer().writeInt(bytes)));
    }

    /** Sends a request of a client. It is not yet written to the worker. */
    Exchange request(String method, String path, boolean end, ResponseSink client) {
        Http2Headers head = new DefaultHttp2Headers()
                .method(method)
                .scheme("http")
                .authority("a")
                .path(path);
        return pool.shard(0).open(head, end, client, TrafficPolicy.NEUTRAL);
    }

    /** Takes the frames that the dispatcher has sent since the last call. */
    void takeSent(Taker taker) throws Exception {
        ByteBuf all = Unpooled.buffer();
        for (ByteBuf out = channel.readOutbound(); out != null; out = channel.readOutbound()) {
            all.writeBytes(out);
            out.release();
        }
        while (all.isReadable()) {
            int bytes = all.readUnsignedMedium();
            int type = all.readByte();
            taker.take(type, all.skipBytes(1).readInt(), all.readSlice(bytes));
        }
    }

    @Override
    public void close() {
        channel.finishAndReleaseAll();
    }

    private final class Events implements WorkerEvents {
        @Override
        public @Nullable Refusal admit(LaunchToken launched, WorkerLink connection, boolean expired) {
            return null;
        }

        @Override
        public List<String> peers() {
            return List.of();
        }

        @Override
        public WorkerKind onHello(WorkerLink connection, ControlMessage.Hello hello) {
            return WorkerKind.LAUNCHED;
        }

        @Override
        public void onReadiness(WorkerLink connection, boolean ready) {}

        @Override
        public void onLoad(WorkerLink connection, ControlMessage.Load load) {}

        @Override
        public void onDrain(WorkerLink connection, DrainCode reason) {}

        @Override
        public void onGone(WorkerLink connection, Departure departure, String reason) {
            partings.add(reason);
        }
    }
}
