package io.lambdadispatcher.wire.http2;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Finds out that a peer has fallen silent: when nothing has been read for an interval it sends an
 * HTTP/2 PING (RFC 9113 section 6.7), and when nothing has been read for the timeout after that,
 * the peer is gone. Any byte counts as a sign of life. Where it is the event loop that was held up,
 * by a pause of the JVM or of the machine, what the peer has sent meanwhile is read first, and the
 * peer, which may have been held up as well, has the time of the pause again, but no more than the
 * timeout. Sits before the HTTP/2 handler. Event loop only.
 */
final class LivenessProbe extends ChannelInboundHandlerAdapter {
    /** Of the timeout. An event loop reads between two timers of which one sets the other. */
    private static final long LAST_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private enum State {
        /** The timer says when a probe may be due. */
        LISTENING,
        /** The timer says when the timeout is nearly over; any byte goes back to listening. */
        PROBING,
        /** The timer says when the peer is gone; any byte goes back to listening. */
        LAST_LOOK,
        ENDED
    }

    private final long intervalNanos;
    private final long timeoutNanos;
    private final Runnable ping;
    private final LongConsumer onSilent;
    private State state = State.LISTENING;
    private long lastReadNanos;
    private long dueNanos;
    private @Nullable Future<?> timer;

    /**
     * Begins to watch when it is added to a pipeline.
     *
     * @param ping sends a PING, and flushes
     * @param onSilent is told once, when the peer is gone, for how many milliseconds it has been
     *     silent
     */
    LivenessProbe(long intervalMillis, long timeoutMillis, Runnable ping, LongConsumer onSilent) {
        this.intervalNanos = TimeUnit.MILLISECONDS.toNanos(intervalMillis);
        this.timeoutNanos = TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        this.ping = ping;
        this.onSilent = onSilent;
    }

    private void onTimer(ChannelHandlerContext ctx) {
        if (state == State.ENDED) {
            return;
        }
        long silentNanos = now(ctx) - lastReadNanos;
        if (state == State.PROBING) {
            state = State.LAST_LOOK;
            long lateNanos = now(ctx) - dueNanos;
            schedule(ctx, Math.max(lastLookNanos(), Math.min(lateNanos, timeoutNanos)));
        } else if (state == State.LAST_LOOK) {
            end();
            onSilent.accept(TimeUnit.NANOSECONDS.toMillis(silentNanos));
        } else if (silentNanos < intervalNanos) {
            schedule(ctx, intervalNanos - silentNanos);
        } else {
            state = State.PROBING;
            schedule(ctx, timeoutNanos - lastLookNanos());
            ping.run();
        }
    }

    private long lastLookNanos() {
        return Math.min(LAST_LOOK_NANOS, timeoutNanos / 2);
    }

    /** The next probe is due an interval after this, however much of the timeout is left. */
    private void onAnswer(ChannelHandlerContext reading) {
        state = State.LISTENING;
        if (timer != null) {
            timer.cancel(false);
        }
        schedule(reading, intervalNanos);
    }

    private void schedule(ChannelHandlerContext on, long nanos) {
        dueNanos = now(on) + nanos;
        timer = on.executor().schedule(() -> onTimer(on), nanos, TimeUnit.NANOSECONDS);
    }

    private void end() {
        state = State.ENDED;
        if (timer != null) {
            timer.cancel(false);
        }
    }

    private static long now(ChannelHandlerContext ctx) {
        return ctx.executor().ticker().nanoTime();
    }

    @Override
    public void handlerAdded(ChannelHandlerContext added) {
        if (added.channel().isActive()) {
            lastReadNanos = now(added);
            schedule(added, intervalNanos);
        } else {
            state = State.ENDED;
        }
    }

    @Override
    public void channelRead(ChannelHandlerContext reading, Object msg) {
        lastReadNanos = now(reading);
        if (state == State.PROBING || state == State.LAST_LOOK) {
            onAnswer(reading);
        }
        reading.fireChannelRead(msg);
    }

    @Override
    public void channelInactive(ChannelHandlerContext inactive) {
        end();
        inactive.fireChannelInactive();
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext removed) {
        end();
    }
}
