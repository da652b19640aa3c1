package io.lambdadispatcher.wire.http2;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Stream;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Netty's HTTP/2 connection handler with one flush per turn of the event loop. Netty flushes after
 * each read of a socket. This handler flushes when all sockets of the turn have been read, so each
 * flush sends more. Event loop only.
 */
public abstract class CoalescingHttp2Handler extends Http2ConnectionHandler {
    /** Time for a peer to read the GOAWAY that closes its connection. */
    private static final long GOAWAY_MILLIS = 1000;

    private final GatheringFrameWriter frames;
    private @Nullable ChannelHandlerContext ctx;
    private @Nullable ChannelPromise written;
    private @Nullable CoalescedFlush flush;
    private long flushes;
    private boolean readCompleting;
    private boolean broken;

    protected CoalescingHttp2Handler(Http2Assembly.Parts parts) {
        super(parts.decoder(), parts.encoder(), parts.settings());
        this.frames = parts.frames();
    }

    final GatheringFrameWriter frames() {
        return frames;
    }

    /**
     * Returns a promise for headers of {@code stream}. Most headers are written immediately, so all
     * of them share one promise.
     */
    public final ChannelPromise headPromise(Http2Stream stream) {
        ChannelHandlerContext c = ctx();
        // If trailers that wait behind DATA cannot be written, only their promise tells Netty's
        // encoder.
        boolean atOnce =
                !frames.isCompleteWhenSent(c) && !encoder().flowController().hasFlowControlled(stream);
        return atOnce ? Objects.requireNonNull(written) : c.newPromise();
    }

    /**
     * Returns bytes to the windows of the stream and the connection. A closed stream has already
     * returned its bytes.
     */
    public final void giveBack(Http2Stream stream, int bytes) {
        try {
            if (connection().local().flowController().consumeBytes(stream, bytes)) {
                flushSoon();
            }
        } catch (Http2Exception e) {
            throw new IllegalStateException("returned " + bytes + " bytes to stream " + stream.id(), e);
        }
    }

    /** Lets the peer send this many more bytes over all its streams. */
    public final void growConnectionWindow(int bytes) {
        try {
            connection()
                    .local()
                    .flowController()
                    .incrementWindowSize(connection().connectionStream(), bytes);
            flushSoon();
        } catch (Http2Exception e) {
            throw new IllegalStateException("a connection window larger by " + bytes + " bytes", e);
        }
    }

    /** Sends RST_STREAM. */
    public final void reset(Http2Stream stream, Http2Error error) {
        resetStream(ctx(), stream.id(), error.code(), ctx().newPromise());
        flushSoon();
    }

    public final void ping(long data) {
        encoder().writePing(ctx(), false, data, ctx().newPromise());
        flushSoon();
    }

    /**
     * Starts to watch the peer, see {@link LivenessProbe}. Its PINGs carry 0.
     *
     * @param onSilent called once when the peer is lost, with the milliseconds since its last byte
     */
    public final void watch(long intervalMillis, long timeoutMillis, LongConsumer onSilent) {
        LivenessProbe probe = new LivenessProbe(intervalMillis, timeoutMillis, () -> ping(0), onSilent);
        ctx().pipeline().addBefore(ctx().name(), null, probe);
    }

    /**
     * Returns this handler's context.
     *
     * @throws NullPointerException before it is in a pipeline
     */
    public final ChannelHandlerContext ctx() {
        return Objects.requireNonNull(ctx, "not in a pipeline");
    }

    /** Flushes after the reads of this turn. Has no effect before the handler is in a pipeline. */
    public final void flushSoon() {
        if (flush != null) {
            flush.request();
        }
    }

    /** Returns the number of flushes. What was written since the last one is not yet sent. */
    public final long flushes() {
        return flushes;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) throws Exception {
        this.ctx = ctx;
        written = ctx.newPromise().setSuccess();
        flush = new CoalescedFlush(this, ctx);
        super.handlerAdded(ctx);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) throws Exception {
        if (broken) {
            // Not Netty's method, which would read on if auto-read is off.
            ctx.fireChannelReadComplete();
            flushSoon();
            return;
        }
        readCompleting = true;
        try {
            super.channelReadComplete(ctx);
        } finally {
            readCompleting = false;
        }
    }

    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) throws Exception {
        if (broken) {
            in.skipBytes(in.readableBytes());
        } else {
            super.decode(ctx, in, out);
        }
    }

    /**
     * Closes a connection that has broken the rules, even if its peer does not read our GOAWAY.
     * Nothing more is read from it, so it cannot cause further answers that nobody reads.
     */
    @Override
    protected void onConnectionError(
            ChannelHandlerContext ctx, boolean outbound, Throwable cause, @Nullable Http2Exception error) {
        broken = true;
        frames.completeWhenSent();
        if (ctx.channel().isActive()) {
            ctx.channel().config().setAutoRead(false);
            // Bypasses all handlers: some wait for streams to end, or for the peer.
            ctx.executor()
                    .schedule(
                            () -> ctx.channel().unsafe().close(ctx.channel().newPromise()),
                            GOAWAY_MILLIS,
                            TimeUnit.MILLISECONDS);
        }
        super.onConnectionError(ctx, outbound, cause, error);
    }

    /**
     * Closes gracefully: after all streams have ended and the socket has accepted their last bytes.
     */
    @Override
    public void close(ChannelHandlerContext ctx, ChannelPromise promise) throws Exception {
        frames.completeWhenSent();
        // Streams may have ended in the chunk, and Netty would not wait for their bytes.
        frames.handOver(ctx);
        super.close(ctx, promise);
    }

    /**
     * A peer that resets the last stream may not have read all of the streams that ended before
     * {@link #close}.
     */
    @Override
    public void closeStream(Http2Stream stream, ChannelFuture future) {
        if (stream instanceof ReusingHttp2Connection.Stream own && (frames.isClosing() || !future.isDone())) {
            own.keep(); // Netty's listener of the future refers to the stream
        }
        ChannelHandlerContext c = ctx;
        if (c == null || !frames.isClosing() || !future.isDone()) {
            super.closeStream(stream, future);
            return;
        }
        stream.close();
        super.closeStream(stream, frames.written(c));
        flushSoon();
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
        if (readCompleting) {
            flushSoon();
            return;
        }
        flushes++;
        try {
            encoder().flowController().writePendingBytes();
            frames.handOver(ctx);
            ctx.flush();
        } catch (Http2Exception e) {
            onError(ctx, true, e);
        }
    }
}
