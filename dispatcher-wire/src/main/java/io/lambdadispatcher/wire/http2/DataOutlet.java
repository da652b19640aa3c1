package io.lambdadispatcher.wire.http2;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2RemoteFlowController.FlowControlled;
import io.netty.handler.codec.http2.Http2Stream;

/**
 * The outgoing DATA of one HTTP/2 stream (RFC 9113 section 6.1), written by reference. It differs
 * from Netty's {@code encoder.writeData} in three ways, all for throughput: there is no promise and
 * no composite buffer per write; what is queued together leaves in as few and as large DATA frames
 * as window and peer allow; and the owner learns when body bytes have left the queue, which is when
 * they may be given back to the window they came through.
 *
 * <p>Two kinds of buffers go through in order: <em>meta</em> (frame headers and heads that we made)
 * and <em>body</em> (somebody's bytes, of which the owner hears). Nothing is flushed here: ask
 * {@link CoalescingHttp2Handler#flushSoon}.
 *
 * <p>Event loop only. Owns every buffer from the moment of the call, also when the stream is closed
 * already. If the outlet is guarded, a body that somebody releases or changes before it has left
 * the queue costs this stream, and not the connection.
 */
public final class DataOutlet implements FlowControlled {

    /** The owner. */
    public interface Listener {
        /**
         * Bytes of body buffers have been handed to the transport, or dropped because the stream
         * has ended. Called while a flush is in flight: must not write to the same outlet before it
         * returns.
         */
        void onTaken(int bodyBytes);

        /**
         * A body that was queued has been released or changed by somebody else, and what was queued
         * has been dropped: the owner has to reset the HTTP/2 stream. Called once, not from within
         * a flush, and only if the outlet is guarded.
         */
        default void onMisused() {}
    }

    private final CoalescingHttp2Handler connection;
    private final GatheringFrameWriter frames;
    private final ChannelHandlerContext ctx;
    private final Http2Stream stream;
    private final Listener listener;
    private final BufferRing queue;

    private int queuedBytes;
    // Joins queuedBytes in merge(), for the flow controller compares sizes before and after.
    private int stagedBytes;

    private boolean enqueued;
    private boolean endQueued;
    private boolean endWritten;
    private boolean closed;

    /** For bodies that nobody else can touch. */
    public DataOutlet(
            CoalescingHttp2Handler connection, ChannelHandlerContext ctx, Http2Stream stream, Listener listener) {
        this(connection, ctx, stream, listener, false);
    }

    /**
     * @param guarded bodies come from application code, and {@link #meta} between them: see {@link
     *     Listener#onMisused}
     */
    public DataOutlet(
            CoalescingHttp2Handler connection,
            ChannelHandlerContext ctx,
            Http2Stream stream,
            Listener listener,
            boolean guarded) {
        this.queue = new BufferRing(guarded);
        this.connection = connection;
        this.frames = connection.frames();
        this.ctx = ctx;
        this.stream = stream;
        this.listener = listener;
    }

    /**
     * An empty buffer, the caller's, that grows: for what goes to {@link #meta}, which costs least
     * with one from here.
     */
    public ByteBuf newMeta() {
        return frames.newMeta(ctx);
    }

    /** Queues bytes that we made. */
    public void meta(ByteBuf data) {
        add(data, false);
    }

    /** Queues somebody's bytes, reported to {@link Listener#onTaken} when they have left. */
    public void body(ByteBuf data) {
        add(data, true);
    }

    /** END_STREAM after all that is queued. */
    public void end() {
        if (isOpen()) {
            endQueued = true;
            enqueue(0);
        }
    }

    /** Bytes that wait for window or for the channel to be writable. */
    public int pendingBytes() {
        return closed ? 0 : queuedBytes + stagedBytes;
    }

    /**
     * Nothing can leave with the next flush: a window is used up, or the channel is not writable.
     */
    public boolean isBlocked() {
        return !connection.encoder().flowController().isWritable(stream);
    }

    /** Drops what is queued. For an owner who has reset the stream, or whose channel has gone. */
    public void close() {
        if (!closed) {
            closed = true;
            dropQueue();
        }
    }

    private boolean isOpen() {
        return !closed && !endQueued && stream.state().localSideOpen() && !stream.isResetSent();
    }

    private void add(ByteBuf data, boolean body) {
        int bytes = data.readableBytes();
        if (bytes > 0 && isOpen()) {
            queue.add(data, body);
            enqueue(bytes);
            return;
        }
        data.release();
        if (body && bytes > 0) {
            listener.onTaken(bytes);
        }
    }

    private void enqueue(int bytes) {
        if (enqueued) {
            stagedBytes = bytes;
        } else {
            queuedBytes += bytes;
            enqueued = true;
        }
        connection.encoder().flowController().addFlowControlled(stream, this);
    }

    @Override
    public int size() {
        return queuedBytes;
    }

    /**
     * The flow controller offers the frame just added to the one already there: both are this
     * outlet.
     */
    @Override
    public boolean merge(ChannelHandlerContext ignored, FlowControlled next) {
        if (next != this) {
            return false;
        }
        queuedBytes += stagedBytes;
        stagedBytes = 0;
        return true;
    }

    @Override
    public void write(ChannelHandlerContext ignored, int allowedBytes) {
        if (closed || stream.isResetSent()) {
            // The flow controller takes an exception as the cancellation of what is queued, and
            // then calls error().
            throw OutletClosedException.INSTANCE;
        }
        int maxFrameBytes =
                connection.encoder().configuration().frameSizePolicy().maxFrameSize();
        int left = Math.min(allowedBytes, queuedBytes);
        if (!queue.isIntact(left)) {
            ctx.executor().execute(listener::onMisused);
            throw BodyMisusedException.INSTANCE;
        }
        int bodyBytes = 0;
        while (left > 0) {
            int frameBytes = Math.min(left, maxFrameBytes);
            bodyBytes += writeWhole(frameBytes);
            left -= frameBytes;
        }
        if (endQueued && !endWritten && queuedBytes == 0) {
            writeWhole(0);
        }
        if (bodyBytes > 0) {
            listener.onTaken(bodyBytes);
        }
    }

    /**
     * For want of memory a frame may end within: what comes behind it would be taken for the rest,
     * and nothing more may be sent.
     */
    private int writeWhole(int frameBytes) {
        try {
            return writeFrame(frameBytes);
        } catch (RuntimeException | Error e) {
            // Past the handler's own close(), which waits for streams to end.
            ctx.close();
            throw e;
        }
    }

    /** @return the bytes of body among {@code frameBytes} */
    private int writeFrame(int frameBytes) {
        queuedBytes -= frameBytes;
        endWritten = endQueued && queuedBytes == 0;
        frames.dataHeader(ctx, stream.id(), frameBytes, endWritten);
        int bodyBytes = 0;
        for (int left = frameBytes; left > 0; ) {
            boolean body = queue.isBody();
            boolean reusable = !body && queue.isFirstWithin(left);
            ByteBuf data = queue.take(left);
            left -= data.readableBytes();
            bodyBytes += body ? data.readableBytes() : 0;
            frames.payload(ctx, data, reusable);
        }
        if (endWritten) {
            connection.closeStreamLocal(stream, frames.written(ctx));
        }
        return bodyBytes;
    }

    @Override
    public void writeComplete() {
        enqueued = false;
    }

    /** The stream has closed, or a write has failed: nothing more can leave. */
    @Override
    public void error(ChannelHandlerContext ignored, Throwable cause) {
        enqueued = false;
        close();
    }

    // queuedBytes stays: until it has let go of this outlet, the flow controller goes by it.
    private void dropQueue() {
        int bodyBytes = queue.releaseAll();
        if (bodyBytes > 0) {
            listener.onTaken(bodyBytes);
        }
    }

    private static final class BodyMisusedException extends IllegalStateException {
        private static final long serialVersionUID = 1L;
        private static final BodyMisusedException INSTANCE = new BodyMisusedException();

        private BodyMisusedException() {
            super("a buffer of the body was released or changed after it had been given to be sent");
        }

        @Override
        public synchronized Throwable fillInStackTrace() {
            return this;
        }
    }

    private static final class OutletClosedException extends IllegalStateException {
        private static final long serialVersionUID = 1L;
        private static final OutletClosedException INSTANCE = new OutletClosedException();

        private OutletClosedException() {
            super("stream was reset before its data was sent");
        }

        @Override
        public synchronized Throwable fillInStackTrace() {
            return this;
        }
    }
}
