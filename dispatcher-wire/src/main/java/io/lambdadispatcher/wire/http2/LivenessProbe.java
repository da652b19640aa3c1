package io.lambdadispatcher.wire.http2;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Detects that a peer is lost. If nothing was read for an interval, it sends an HTTP/2 PING (RFC
 * 9113 section 6.7). If nothing is read for the timeout after that, the peer is lost. Any byte
 * counts. If the event loop itself was delayed, by a pause of the JVM or of the machine, the bytes
 * that have arrived meanwhile are read first. The peer, which may have paused too, then gets the
 * time of the pause again, but at most the timeout. The handler is before the HTTP/2 handler. Event
 * loop only.
 */
final class LivenessProbe extends ChannelInboundHandlerAdapter {
    /**
     * Last part of the timeout. An event loop reads between two timers if one of them sets the
     * other.
     */
    private static final long LAST_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private enum State {
        /** The timer fires when a probe may be due. */
        LISTENING,
        /** The timer fires when the timeout is nearly over. Any byte returns to LISTENING. */
        PROBING,
        /** The timer fires when the peer is lost. Any byte returns to LISTENING. */
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
     * Starts to watch when it is added to a pipeline.
     *
     * @param ping sends a PING, and flushes
     * @param onSilent called once when the peer is lost, with the milliseconds since its last byte
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

    /** The next probe is due an interval after this, whatever is left of the timeout. */
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
