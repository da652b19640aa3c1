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
 * Netty's connection handler with one flush for a turn of the event loop: Netty flushes each time a
 * socket has been read; ours comes when all sockets of the turn have been, with more to send. Event
 * loop only.
 */
public abstract class CoalescingHttp2Handler extends Http2ConnectionHandler {
    /** So long a peer has to take the GOAWAY that ends its connection. */
    private static final long GOAWAY_MILLIS = 1000;

    private final GatheringFrameWriter frames;
    private @Nullable ChannelHandlerContext ctx;
    private @Nullable ChannelPromise written;
    private @Nullable CoalescedFlush flush;
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
     * For a head of {@code stream}: most are written at once, so that one promise, kept, does for
     * all.
     */
    public final ChannelPromise headPromise(Http2Stream stream) {
        ChannelHandlerContext c = ctx();
        // Of trailers that wait behind DATA, only the promise tells Netty's encoder that they could
        // not be written.
        boolean atOnce =
                !frames.isCompleteWhenSent(c) && !encoder().flowController().hasFlowControlled(stream);
        return atOnce ? Objects.requireNonNull(written) : c.newPromise();
    }

    /**
     * Gives bytes back to the windows that they came through. A stream that has closed has given
     * back all of its own.
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
     * Begins to watch the peer: see {@link LivenessProbe}. Its PINGs carry 0.
     *
     * @param onSilent is told once, when the peer is gone, for how many milliseconds it has been
     *     silent
     */
    public final void watch(long intervalMillis, long timeoutMillis, LongConsumer onSilent) {
        LivenessProbe probe = new LivenessProbe(intervalMillis, timeoutMillis, () -> ping(0), onSilent);
        ctx().pipeline().addBefore(ctx().name(), null, probe);
    }

    /** This handler's own. @throws NullPointerException before it is in a pipeline */
    public final ChannelHandlerContext ctx() {
        return Objects.requireNonNull(ctx, "not in a pipeline");
    }

    /**
     * Flushes when this turn's reads are done. Does nothing before the handler is in a pipeline.
     */
    public final void flushSoon() {
        if (flush != null) {
            flush.request();
        }
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
            // Netty's would read on, for it does so where nothing is read by itself.
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
     * Ends a connection that has broken the rules even if its peer does not take our GOAWAY:
     * nothing more is read from it, so that it cannot make us queue answers that nobody takes.
     */
    @Override
    protected void onConnectionError(
            ChannelHandlerContext ctx, boolean outbound, Throwable cause, @Nullable Http2Exception error) {
        broken = true;
        frames.completeWhenSent();
        super.onConnectionError(ctx, outbound, cause, error);
        if (ctx.channel().isActive()) {
            ctx.channel().config().setAutoRead(false);
            // Past our own close(), which waits for streams to end.
            ctx.executor().schedule(() -> ctx.close(), GOAWAY_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    /** Gracefully: when all streams have ended and the socket has their last bytes. */
    @Override
    public void close(ChannelHandlerContext ctx, ChannelPromise promise) throws Exception {
        frames.completeWhenSent();
        // Streams may have ended in there, and Netty would not wait for these.
        frames.handOver(ctx);
        super.close(ctx, promise);
    }

    /**
     * A peer that resets the last stream has perhaps not taken all of those that had ended before
     * {@link #close}.
     */
    @Override
    public void closeStream(Http2Stream stream, ChannelFuture future) {
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
        try {
            encoder().flowController().writePendingBytes();
            frames.handOver(ctx);
            ctx.flush();
        } catch (Http2Exception e) {
            onError(ctx, true, e);
        }
    }
}
