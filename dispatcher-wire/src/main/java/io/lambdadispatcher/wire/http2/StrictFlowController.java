package io.lambdadispatcher.wire.http2;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionAdapter;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameWriter;
import io.netty.handler.codec.http2.Http2LocalFlowController;
import io.netty.handler.codec.http2.Http2Stream;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The windows of a server in which a peer may send (RFC 9113 section 5.2). A window is opened again
 * when half of it has been used and returned. Only a stream that has a body needs a window, and an
 * object for it.
 *
 * <p>A peer that exceeds a window loses its connection before anything is counted (section 6.9.1).
 * Netty's controller counts first. If it then fails, the decoder returns bytes that were never
 * taken: twice the bytes of a stream, or it throws another error instead of FLOW_CONTROL_ERROR, and
 * the peer keeps sending.
 *
 * <p><b>Threading.</b> Event loop only. Nothing is flushed here.
 */
final class StrictFlowController implements Http2LocalFlowController {
    private final Http2Connection connection;
    private final Http2Connection.PropertyKey key;
    private final Window connectionWindow =
            new Window(Http2CodecUtil.CONNECTION_STREAM_ID, Http2CodecUtil.DEFAULT_WINDOW_SIZE);
    private int initialWindow = Http2CodecUtil.DEFAULT_WINDOW_SIZE;
    private @Nullable Http2FrameWriter writer;
    private @Nullable ChannelHandlerContext ctx;
    private boolean violated;

    StrictFlowController(Http2Connection connection) {
        this.connection = connection;
        this.key = connection.newKey();
        connection.connectionStream().setProperty(key, connectionWindow);
        connection.addListener(new Http2ConnectionAdapter() {
            @Override
            public void onStreamActive(Http2Stream stream) {
                if (stream.state().remoteSideOpen()) {
                    stream.setProperty(key, new Window(stream.id(), initialWindow));
                }
            }

            /** The bytes of the stream that were not returned so far no longer count. */
            @Override
            public void onStreamClosed(Http2Stream stream) {
                Window window = stream.removeProperty(key);
                if (window != null && window.untaken > 0) {
                    connectionWindow.giveBack(window.untaken);
                }
            }
        });
    }

    /** The window of one stream, or of the connection. */
    private final class Window {
        private final int streamId;
        private int initial;
        /** Bytes that the peer may send. */
        private int room;
        /** Bytes that have arrived and were not returned. */
        private int untaken;

        private boolean ended;

        Window(int streamId, int initial) {
            this.streamId = streamId;
            this.initial = initial;
            this.room = initial;
        }

        void take(int bytes) {
            room -= bytes;
            untaken += bytes;
        }

        /** @return whether a WINDOW_UPDATE was written */
        boolean giveBack(int bytes) {
            if (bytes > untaken) {
                throw new IllegalStateException(
                        "returned " + bytes + " bytes of " + untaken + " to stream " + streamId);
            }
            untaken -= bytes;
            return openIfNeeded();
        }

        boolean openIfNeeded() {
            int used = initial - room - untaken;
            if (ended || initial <= 0 || used < initial - initial / 2 || writer == null || ctx == null) {
                return false;
            }
            room += used;
            writer.writeWindowUpdate(ctx, streamId, used, ctx.newPromise());
            return true;
        }

        void grow(int delta) {
            room += delta;
            initial += delta;
        }
    }

    private @Nullable Window window(@Nullable Http2Stream stream) {
        return stream == null || stream.state() == Http2Stream.State.CLOSED ? null : stream.getProperty(key);
    }

    @Override
    public void receiveFlowControlledFrame(@Nullable Http2Stream stream, ByteBuf data, int padding, boolean endOfStream)
            throws Http2Exception {
        int bytes = data.readableBytes() + padding;
        Window window = window(stream);
        if (violated || bytes > connectionWindow.room || window != null && bytes > window.room) {
            violated = true;
            throw Http2Exception.connectionError(Http2Error.FLOW_CONTROL_ERROR, "a flow-control window was exceeded");
        }
        connectionWindow.take(bytes);
        if (window != null) {
            window.ended = endOfStream;
            window.take(bytes);
        } else if (bytes > 0) {
            connectionWindow.giveBack(bytes);
        }
    }

    /**
     * Returns nothing after a violation, because the decoder would return bytes that were not
     * counted.
     */
    @Override
    public boolean consumeBytes(@Nullable Http2Stream stream, int bytes) {
        Window window = window(stream);
        if (violated || bytes == 0 || window == null) {
            return false;
        }
        boolean written = window.giveBack(bytes);
        return connectionWindow.giveBack(bytes) || written;
    }

    @Override
    public int unconsumedBytes(Http2Stream stream) {
        Window window = window(stream);
        return window == null ? 0 : window.untaken;
    }

    @Override
    public int windowSize(Http2Stream stream) {
        Window window = window(stream);
        return window == null ? 0 : window.room;
    }

    @Override
    public int initialWindowSize(Http2Stream stream) {
        Window window = window(stream);
        return window == null ? 0 : window.initial;
    }

    /** Lets the peer send more bytes, as soon as a WINDOW_UPDATE is due. */
    @Override
    public void incrementWindowSize(Http2Stream stream, int delta) {
        Window window = Objects.requireNonNull(window(stream));
        window.initial = (int) Math.min(Integer.MAX_VALUE, (long) window.initial + delta);
        window.openIfNeeded();
    }

    /** RFC 9113 section 6.9.2: the windows of open streams change by the difference. */
    @Override
    public void initialWindowSize(int newWindow) throws Http2Exception {
        int delta = newWindow - initialWindow;
        initialWindow = newWindow;
        connection.forEachActiveStream(stream -> {
            Window window = window(stream);
            if (window != null) {
                window.grow(delta);
            }
            return true;
        });
    }

    @Override
    public int initialWindowSize() {
        return initialWindow;
    }

    @Override
    public Http2LocalFlowController frameWriter(Http2FrameWriter frameWriter) {
        writer = frameWriter;
        return this;
    }

    @Override
    public void channelHandlerContext(ChannelHandlerContext context) {
        ctx = context;
    }
}
