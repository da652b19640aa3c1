package io.lambdadispatcher.wire.http2;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2RemoteFlowController.FlowControlled;
import io.netty.handler.codec.http2.Http2Stream;

/**
 * Writes the DATA frames of one HTTP/2 stream by reference (RFC 9113 section 6.1). Compared with
 * Netty's {@code encoder.writeData}, it has a higher throughput:
 * <ul>
 *   <li>There is no promise and no composite buffer for each write.
 *   <li>Queued buffers become as few and as large DATA frames as the window and the peer allow.
 *   <li>The owner learns when body bytes have left the queue and can be returned to the window that
 *       they came through.
 * </ul>
 *
 * <p>Two kinds of buffers are written in order: <em>meta</em> (frame headers and HTTP headers that
 * the program made) and <em>body</em> (bytes of which the owner is notified). Nothing is flushed
 * here: call {@link CoalescingHttp2Handler#flushSoon}.
 *
 * <p><b>Threading.</b> Event loop only.
 *
 * <p><b>Buffers.</b> Owns every buffer from the moment of the call, even if the stream is already
 * closed. If the outlet is guarded, a body that is released or changed before it has left the queue
 * costs this stream, and not the connection.
 */
public final class DataOutlet implements FlowControlled {

    /** The owner. */
    public interface Listener {
        /**
         * Bytes of body buffers were passed to the transport, or dropped because the stream has
         * ended. Called during a flush, so it must not write to the same outlet.
         */
        void onTaken(int bodyBytes);

        /**
         * A queued body was released or changed by other code, and the queue was dropped. The owner
         * must reset the HTTP/2 stream. Called once, not during a flush, and only if the outlet is
         * guarded.
         */
        default void onMisused() {}
    }

    private final CoalescingHttp2Handler connection;
    private final GatheringFrameWriter frames;
    private final ChannelHandlerContext ctx;
    private final Listener listener;
    private final BufferRing queue;
    private Http2Stream stream;

    private int queuedBytes;
    // Becomes part of queuedBytes in merge(), because the flow controller compares the sizes before
    // and after.
    private int stagedBytes;

    private long writtenBytes;
    private boolean enqueued;
    private boolean endQueued;
    private boolean endWritten;
    private boolean closed;

    /** Creates an outlet for bodies that no other code can change. */
    public DataOutlet(
            CoalescingHttp2Handler connection, ChannelHandlerContext ctx, Http2Stream stream, Listener listener) {
        this(connection, ctx, stream, listener, false);
    }

    /**
     * @param guarded whether bodies come from application code, with {@link #meta} between them:
     *     see {@link Listener#onMisused}
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
     * Returns whether the outlet is closed and the flow controller does not use it any more, so
     * that it can be reopened.
     */
    public boolean isReusable() {
        return closed && !enqueued;
    }

    /** Reopens a {@linkplain #isReusable reusable} outlet for another stream. */
    public void reopen(Http2Stream next) {
        assert isReusable();
        stream = next;
        queuedBytes = 0;
        stagedBytes = 0;
        endQueued = false;
        endWritten = false;
        closed = false;
    }

    /**
     * Returns an empty buffer that grows, for {@link #meta}. It belongs to the caller. Using it
     * costs less than allocating one.
     */
    public ByteBuf newMeta() {
        return frames.newMeta(ctx);
    }

    /** Queues bytes that the program made. */
    public void meta(ByteBuf data) {
        add(data, false);
    }

    /** Queues body bytes. {@link Listener#onTaken} reports when they have left. */
    public void body(ByteBuf data) {
        add(data, true);
    }

    /** Queues END_STREAM after everything that is queued. */
    public void end() {
        if (isOpen()) {
            endQueued = true;
            enqueue(0);
        }
    }

    /** Returns the number of bytes that wait for the window or for the channel to be writable. */
    public int pendingBytes() {
        return closed ? 0 : queuedBytes + stagedBytes;
    }

    /** Returns the number of bytes that have left the queue for the transport so far. */
    public long writtenBytes() {
        return writtenBytes;
    }

    /**
     * Returns whether the next flush can write nothing, because a window is used up or the channel
     * is not writable.
     */
    public boolean isBlocked() {
        return !connection.encoder().flowController().isWritable(stream);
    }

    /** Drops the queue, because the stream was reset or the channel is closed. */
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
     * The flow controller offers the frame that was just added to the one that is already there.
     * Both are this outlet.
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
            // The flow controller treats an exception as the cancellation of the queue, and then
            // calls error().
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
     * If memory runs out, a frame may be incomplete. Later bytes would be taken for its rest, so
     * nothing more may be sent.
     */
    private int writeWhole(int frameBytes) {
        try {
            return writeFrame(frameBytes);
        } catch (RuntimeException | Error e) {
            // Bypasses the handler's own close(), which waits for streams to end.
            ctx.close();
            throw e;
        }
    }

    /** @return number of body bytes among {@code frameBytes} */
    private int writeFrame(int frameBytes) {
        queuedBytes -= frameBytes;
        writtenBytes += frameBytes;
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

    /** The stream is closed, or a write has failed. Nothing more is sent. */
    @Override
    public void error(ChannelHandlerContext ignored, Throwable cause) {
        enqueued = false;
        close();
    }

    // queuedBytes stays, because the flow controller uses it until it has removed this outlet.
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
