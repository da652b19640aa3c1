package io.lambdadispatcher.wire.http2;

import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionAdapter;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2RemoteFlowController;
import io.netty.handler.codec.http2.Http2Stream;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * Manages the windows that a peer has granted (RFC 9113 section 5.2), and decides which stream
 * writes next. Streams with something to send and a window for it are in a queue. Each writes a
 * share of what the connection window and the channel allow. Priorities are ignored (RFC 9113
 * section 5.3 has deprecated them). A stream needs one small object, which is reused, where Netty's
 * controller and distributor need five.
 *
 * <p><b>Threading.</b> Event loop only, as {@link Http2RemoteFlowController} requires. Nothing is
 * flushed here.
 */
public final class FairFlowController implements Http2RemoteFlowController {
    /**
     * Minimum that a stream may write in its turn if windows allow: few large DATA frames instead
     * of many small ones.
     */
    private static final int MIN_TURN_BYTES = 64 * 1024;

    /**
     * If a channel has room at all, at least this much is used. Its buffer may overflow by that.
     */
    private static final int MIN_CHANNEL_BYTES = 32 * 1024;

    /** Maximum number of objects of closed streams that wait for later ones. */
    private static final int MAX_SPARES = 16;

    private final Http2Connection connection;
    private final Http2Connection.PropertyKey key;
    private final ArrayDeque<Flow> turns = new ArrayDeque<>();
    /** Flows of closed streams, for later ones. */
    private final ArrayDeque<Flow> spares = new ArrayDeque<>(4);
    /** The flow of all closed streams, which sends nothing. */
    private final Flow closed = new Flow();

    private @Nullable ChannelHandlerContext ctx;
    private int initialWindow = Http2CodecUtil.DEFAULT_WINDOW_SIZE;
    private int connectionWindow = Http2CodecUtil.DEFAULT_WINDOW_SIZE;
    private boolean distributing;

    public FairFlowController(Http2Connection connection) {
        this.connection = connection;
        this.key = connection.newKey();
        closed.cancelled = true;
        connection.addListener(new Http2ConnectionAdapter() {
            @Override
            public void onStreamAdded(Http2Stream stream) {
                Flow spare = spares.poll();
                Flow flow = spare == null ? new Flow() : spare;
                flow.begin(stream.id(), initialWindow);
                stream.setProperty(key, flow);
            }

            @Override
            public void onStreamActive(Http2Stream stream) {
                // The stream may have been reserved before the peer changed its settings.
                flow(stream).window = initialWindow;
            }

            @Override
            public void onStreamHalfClosed(Http2Stream stream) {
                if (stream.state() == Http2Stream.State.HALF_CLOSED_LOCAL) {
                    flow(stream).cancel(Http2Error.STREAM_CLOSED, null);
                }
            }

            @Override
            public void onStreamClosed(Http2Stream stream) {
                Flow flow = flow(stream);
                stream.setProperty(key, closed);
                flow.cancel(Http2Error.STREAM_CLOSED, null);
                flow.end();
            }
        });
    }

    /** What one stream has to send, and its window. */
    private final class Flow {
        private int streamId;
        private int window;
        private @Nullable FlowControlled first;
        private @Nullable ArrayDeque<FlowControlled> others;
        private boolean hasTurn;
        private boolean writing;
        private boolean cancelled;
        private boolean ended;

        void begin(int id, int newWindow) {
            streamId = id;
            window = newWindow;
            cancelled = false;
            ended = false;
        }

        /**
         * The stream is closed, and the queue was cancelled. A later stream may have this object
         * after a write that may be in progress.
         */
        void end() {
            ended = true;
            if (!writing && spares.size() < MAX_SPARES) {
                spares.push(this);
            }
        }

        void add(FlowControlled frame) {
            FlowControlled last = others == null || others.isEmpty() ? first : others.peekLast();
            if (cancelled) {
                frame.error(ctx, cancellation(Http2Error.STREAM_CLOSED, null));
            } else if (last == null) {
                first = frame;
            } else if (!last.merge(ctx, frame)) {
                others = others == null ? new ArrayDeque<>(4) : others;
                others.add(frame);
            }
            takeTurn();
        }

        /** Frames without flow-controlled bytes, such as an empty last one, need no window. */
        private boolean canWrite() {
            return first != null && (window > 0 || first.size() == 0);
        }

        void takeTurn() {
            if (hasTurn || first == null || !canWrite()) {
                return;
            }
            hasTurn = true;
            if (first.size() == 0) {
                // It must not wait behind streams that wait for the connection's window.
                turns.addFirst(this);
            } else {
                turns.add(this);
            }
        }

        /** @return number of written bytes; the frames themselves go to the channel */
        int write(int allowedBytes) {
            int left = allowedBytes;
            Throwable failure = null;
            writing = true;
            try {
                for (boolean more = true; more && first != null && !cancelled; ) {
                    FlowControlled frame = first;
                    int before = frame.size();
                    int max = Math.max(0, Math.min(left, Math.min(window, connectionWindow)));
                    if (max == 0 && before > 0) {
                        break;
                    }
                    try {
                        frame.write(ctx, max);
                    } finally {
                        int written = before - frame.size();
                        left -= written;
                        window -= written;
                        connectionWindow -= written;
                        more = written > 0;
                    }
                    if (frame.size() == 0) {
                        first = others == null ? null : others.poll();
                        more = true;
                        frame.writeComplete();
                    }
                }
            } catch (Throwable e) {
                cancelled = true;
                failure = e;
            } finally {
                writing = false;
            }
            // If the stream is closed only by what follows, it ends the flow itself.
            boolean endedDuringWrite = ended;
            if (cancelled) {
                cancel(Http2Error.INTERNAL_ERROR, failure);
            }
            if (endedDuringWrite) {
                end();
            }
            return allowedBytes - left;
        }

        /**
         * Cancels the queue, because nothing more can be written. It learns of that after a write
         * that may be in progress.
         */
        void cancel(Http2Error error, @Nullable Throwable cause) {
            cancelled = true;
            if (writing) {
                return;
            }
            if (hasTurn) {
                // Streams before it can wait for the connection's window for any time.
                turns.remove(this);
                hasTurn = false;
            }
            FlowControlled frame = first;
            first = null;
            if (frame != null) {
                Http2Exception cancellation = cancellation(error, cause);
                for (; frame != null; frame = others == null ? null : others.poll()) {
                    frame.error(ctx, cancellation);
                }
            }
        }

        private Http2Exception cancellation(Http2Error error, @Nullable Throwable cause) {
            return Http2Exception.streamError(
                    streamId, error, cause, "stream %d was closed before its data was sent", streamId);
        }

        void widen(int delta) throws Http2Exception {
            window = sum(streamId, window, delta);
            takeTurn();
        }
    }

    private Flow flow(Http2Stream stream) {
        return stream.getProperty(key);
    }

    /**
     * RFC 9113 section 6.9.1: more than 2^31 - 1 is an error of the stream, or of the connection.
     */
    private static int sum(int streamId, int window, int delta) throws Http2Exception {
        if (delta > 0 && Integer.MAX_VALUE - delta < window) {
            throw Http2Exception.streamError(
                    streamId, Http2Error.FLOW_CONTROL_ERROR, "window of %d grew by %d", window, delta);
        }
        return window + delta;
    }

    /** Returns the number of streams in the queue. */
    int waiting() {
        return turns.size();
    }

    @Override
    public void addFlowControlled(Http2Stream stream, FlowControlled frame) {
        flow(stream).add(frame);
    }

    @Override
    public boolean hasFlowControlled(Http2Stream stream) {
        return flow(stream).first != null;
    }

    /**
     * Writes each stream in turn, until there is nothing to write or nothing may be written. Has no
     * effect if it is called by itself.
     */
    @Override
    public void writePendingBytes() {
        if (distributing || ctx == null) {
            return;
        }
        distributing = true;
        try {
            boolean usable = true;
            while (usable && !turns.isEmpty()) {
                usable = writeRound(usableBytes(ctx));
            }
        } finally {
            distributing = false;
        }
    }

    /** @return whether another round makes sense */
    private boolean writeRound(int usableBytes) {
        int usable = usableBytes;
        int turnBytes = Math.max(MIN_TURN_BYTES, usable / turns.size());
        for (int left = turns.size(); left > 0 && !turns.isEmpty(); left--) {
            Flow flow = turns.remove();
            boolean mayWrite = flow.canWrite();
            if (mayWrite && usable == 0 && flow.first != null && flow.first.size() > 0) {
                turns.addFirst(flow);
                // Small frames were gathered, and the channel may not count them yet.
                return usableBytes > 0;
            }
            flow.hasTurn = false;
            if (mayWrite) {
                usable -= flow.write(Math.min(turnBytes, usable));
            }
            flow.takeTurn();
        }
        return true;
    }

    private int usableBytes(ChannelHandlerContext c) {
        long channelBytes = c.channel().bytesBeforeUnwritable();
        if (channelBytes == 0) {
            return 0;
        }
        long usable =
                Math.max(channelBytes, Math.max(c.channel().config().getWriteBufferLowWaterMark(), MIN_CHANNEL_BYTES));
        return (int) Math.max(0, Math.min(usable, connectionWindow));
    }

    @Override
    public void incrementWindowSize(Http2Stream stream, int delta) throws Http2Exception {
        if (stream.id() == Http2CodecUtil.CONNECTION_STREAM_ID) {
            connectionWindow = sum(stream.id(), connectionWindow, delta);
        } else {
            flow(stream).widen(delta);
        }
    }

    /**
     * RFC 9113 section 6.9.2: the windows of open streams change by the difference, and can become
     * negative. One that becomes too large is an error of the connection.
     */
    @Override
    public void initialWindowSize(int newWindow) throws Http2Exception {
        int delta = newWindow - initialWindow;
        initialWindow = newWindow;
        try {
            connection.forEachActiveStream(stream -> {
                flow(stream).widen(delta);
                return true;
            });
        } catch (Http2Exception e) {
            throw Http2Exception.connectionError(e.error(), e, "initial window of %d: %s", newWindow, e.getMessage());
        }
        if (delta > 0) {
            writePendingBytes();
        }
    }

    @Override
    public int initialWindowSize() {
        return initialWindow;
    }

    @Override
    public int windowSize(Http2Stream stream) {
        return stream.id() == Http2CodecUtil.CONNECTION_STREAM_ID ? connectionWindow : flow(stream).window;
    }

    @Override
    public boolean isWritable(Http2Stream stream) {
        return ctx != null && ctx.channel().isWritable() && Math.min(connectionWindow, windowSize(stream)) > 0;
    }

    @Override
    public void channelHandlerContext(ChannelHandlerContext context) {
        ctx = context;
        if (context.channel().isWritable()) {
            writePendingBytes();
        }
    }

    @Override
    public @Nullable ChannelHandlerContext channelHandlerContext() {
        return ctx;
    }

    /** Netty's handler flushes when the channel is writable again, and a flush writes. */
    @Override
    public void channelWritabilityChanged() {}

    @Override
    public void updateDependencyTree(int child, int parent, short weight, boolean exclusive) {}

    @Override
    public void listener(@Nullable Listener listener) {
        if (listener != null) {
            throw new UnsupportedOperationException(
                    "nobody is told of writability; a DataOutlet tells what it has sent");
        }
    }
}
