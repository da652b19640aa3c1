package io.lambdadispatcher.bench.load;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2ConnectionHandlerBuilder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameAdapter;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2LocalFlowController;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.util.collection.IntObjectHashMap;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One client connection. Its windows are so large that the client never slows the server down.
 * Confined to the event loop.
 */
final class LoadConnection extends Http2FrameAdapter {
    private static final int WINDOW_BYTES = (1 << 30) - 1;

    private final int mostStreams;
    private final Listener listener;
    private final Http2ConnectionHandler http2;
    private final IntObjectHashMap<Call> calls = new IntObjectHashMap<>();
    private @Nullable ChannelHandlerContext ctx;
    private boolean dirty;

    /** Receives events of the connection, and the end of each call. */
    interface Listener {
        /** The server's settings have arrived: requests may be sent. */
        void onReady(LoadConnection connection);

        void onEnded(Call call, boolean good);

        /** Called after {@link #onEnded} of all calls that were in flight. */
        void onClosed(LoadConnection connection);
    }

    /** A request in flight. */
    static final class Call {
        final RequestKind kind;
        final long number;
        final long intendedNanos;
        final long startedNanos;
        private long received;
        private boolean ok;

        Call(RequestKind kind, long number, long intendedNanos, long startedNanos) {
            this.kind = kind;
            this.number = number;
            this.intendedNanos = intendedNanos;
            this.startedNanos = startedNanos;
        }
    }

    LoadConnection(int mostStreams, Listener listener) {
        this.mostStreams = mostStreams;
        this.listener = listener;
        this.http2 = new Http2ConnectionHandlerBuilder()
                .server(false)
                .frameListener(this)
                .initialSettings(
                        Http2Settings.defaultSettings().pushEnabled(false).initialWindowSize(WINDOW_BYTES))
                .validateHeaders(false)
                .build();
    }

    void addTo(Channel channel) {
        channel.pipeline().addLast(http2);
        ctx = channel.pipeline().context(http2);
    }

    /** Starts to report the closing of the connection to the listener. */
    void watch() {
        Objects.requireNonNull(ctx).channel().closeFuture().addListener(closed -> onClosed());
    }

    boolean hasRoom() {
        return calls.size() < mostStreams && http2.connection().local().canOpenStream();
    }

    int underWay() {
        return calls.size();
    }

    /** Writes a request, which is sent by the next {@link #flush}. */
    void send(Call call) {
        ChannelHandlerContext to = Objects.requireNonNull(ctx);
        int id = http2.connection().local().incrementAndGetNextStreamId();
        calls.put(id, call);
        ByteBuf body = call.kind.body(call.number);
        boolean empty = !body.isReadable();
        http2.encoder().writeHeaders(to, id, call.kind.head(), 0, empty, to.newPromise());
        if (!empty) {
            http2.encoder().writeData(to, id, body, 0, true, to.newPromise());
        } else {
            body.release();
        }
        dirty = true;
    }

    void flush() {
        if (dirty) {
            dirty = false;
            http2.flush(Objects.requireNonNull(ctx));
        }
    }

    void close() {
        Objects.requireNonNull(ctx).channel().close();
    }

    @Override
    public void onSettingsRead(ChannelHandlerContext from, Http2Settings settings) {
        try {
            Http2LocalFlowController flow = http2.connection().local().flowController();
            int missing =
                    WINDOW_BYTES - flow.initialWindowSize(http2.connection().connectionStream());
            if (missing > 0) {
                flow.incrementWindowSize(http2.connection().connectionStream(), missing);
                http2.flush(from);
            }
        } catch (Http2Exception e) {
            throw new IllegalStateException("a window of " + WINDOW_BYTES + " bytes was refused", e);
        }
        listener.onReady(this);
    }

    @Override
    public void onHeadersRead(
            ChannelHandlerContext from,
            int id,
            Http2Headers head,
            int dependency,
            short weight,
            boolean exclusive,
            int padding,
            boolean end) {
        onHeadersRead(from, id, head, padding, end);
    }

    @Override
    public void onHeadersRead(ChannelHandlerContext from, int id, Http2Headers head, int padding, boolean end) {
        Call call = calls.get(id);
        CharSequence status = head.status();
        if (call != null && status != null) {
            call.ok = "200".contentEquals(status);
        }
        endIf(end, id);
    }

    @Override
    public int onDataRead(ChannelHandlerContext from, int id, ByteBuf data, int padding, boolean end) {
        Call call = calls.get(id);
        if (call != null) {
            call.received += data.readableBytes();
        }
        int taken = data.readableBytes() + padding;
        endIf(end, id);
        return taken;
    }

    private void endIf(boolean end, int id) {
        Call call = end ? calls.remove(id) : null;
        if (call != null) {
            listener.onEnded(call, call.ok && call.received == call.kind.responseBytes());
        }
    }

    @Override
    public void onRstStreamRead(ChannelHandlerContext from, int id, long errorCode) {
        Call call = calls.remove(id);
        if (call != null) {
            listener.onEnded(call, false);
        }
    }

    private void onClosed() {
        calls.values().forEach(call -> listener.onEnded(call, false));
        calls.clear();
        listener.onClosed(this);
    }
}
