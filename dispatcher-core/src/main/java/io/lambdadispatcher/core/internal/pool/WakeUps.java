package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.loop.FairQueue;
import io.lambdadispatcher.core.internal.loop.LoopClock;
import io.lambdadispatcher.core.internal.loop.Loops;
import io.netty.channel.EventLoop;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Serves the queued requests of one event loop while there are permits on any loop, and wakes the
 * loop whose request is next. No wake-up is lost: at rest, no request waits while there is a
 * permit. Three rules ensure this:
 *
 * <ol>
 *   <li>A request counts itself as pending and becomes visible in its queue before {@link
 *       #serveWaiting} looks for permits.
 *   <li>A stream returns its permit before {@link #onOffered} looks for pending requests and at the
 *       heads of queues.
 *   <li>A shard that leaves permits to another shard wakes it, and the other shard follows the same
 *       rules.
 * </ol>
 *
 * <p>{@code WakeUpStress} and {@code PermitStress} (profile {@code jcstress}) try all
 * interleavings.
 *
 * <p><i>Threading:</i> must be called on the event loop. Other loops read when this one was woken
 * and the head of its queue, and wake it.
 */
final class WakeUps {
    /**
     * The time after which a queued request takes precedence over the requests of another loop.
     * Crossing over costs two wake-ups, so a stream first serves its own loop. The order between
     * loops can be wrong by this time plus the time of a wake-up.
     */
    private static final long YIELD_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    /**
     * The time after a wake-up within which an event loop must look for permits. Other loops no
     * longer wait for a loop that takes longer.
     */
    private static final long STALLED_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final FunctionPool pool;
    private final EventLoop loop;
    private final LoopClock clock;
    private final FreeStreams free;
    private final FairQueue<Exchange> waiting;
    private final BooleanSupplier serveHead;

    /**
     * When this event loop was asked to look for permits, by the loops' ticker; 0 if it has looked
     * since.
     */
    private final AtomicLong wokenNanos = new AtomicLong();

    private final Runnable onWoken = this::onWoken;
    private boolean serving;
    private boolean lookScheduled;

    /**
     * @param serveHead removes the first request of {@code waiting} and serves, fails or queues it
     *     again; returns false if there is none
     */
    WakeUps(
            FunctionPool pool,
            EventLoop loop,
            LoopClock clock,
            FreeStreams free,
            FairQueue<Exchange> waiting,
            BooleanSupplier serveHead) {
        this.pool = pool;
        this.loop = loop;
        this.clock = clock;
        this.free = free;
        this.waiting = waiting;
        this.serveHead = serveHead;
    }

    /**
     * Returns a permit that has found no stream on this event loop. Other requests may use it.
     */
    void onPermitUnused() {
        assert loop.inEventLoop();
        free.release();
        onOffered();
    }

    /** A stream of this event loop may be free, and its permit is counted. */
    void onOffered() {
        if (pool.pending() > 0) {
            serveWaiting();
        }
    }

    /**
     * Serves queued requests while there are permits, in the order of their tags. Wakes the loop
     * whose request is next.
     */
    void serveWaiting() {
        assert loop.inEventLoop();
        if (serving) {
            // A request that fails or is served may start another, and the loop below checks again.
            return;
        }
        serving = true;
        try {
            while (anyPermit()) {
                WakeUps next = elder();
                boolean over = next == null ? !serveHead.getAsBoolean() : next.wake();
                if (over) {
                    if (waiting.size() > 0) {
                        lookAgain();
                    }
                    return;
                }
            }
        } finally {
            serving = false;
        }
    }

    /** Schedules another try, because the loop that has precedence may be stalled. */
    private void lookAgain() {
        if (!lookScheduled) {
            lookScheduled = true;
            loop.schedule(
                    () -> {
                        lookScheduled = false;
                        serveWaiting();
                    },
                    STALLED_NANOS + 1,
                    TimeUnit.NANOSECONDS);
        }
    }

    /**
     * Returns the other loop whose request is next: the one with the lowest tag, if it is below
     * that of this loop's first request and has waited long enough to take precedence. Skips
     * stalled loops.
     *
     * @return {@code null} if this loop's first request is next, or none is queued anywhere
     */
    private @Nullable WakeUps elder() {
        WakeUps best = null;
        long lowest = waiting.headTag();
        long waitNanos = waiting.size() > 0 ? YIELD_NANOS : Long.MIN_VALUE;
        long now = clock.nanoTime();
        for (PoolShard shard : pool.shards()) {
            WakeUps other = shard.wakeUps;
            long its = other.waiting.headTag();
            if (its < lowest
                    && other != this
                    && now - other.waiting.headSinceNanos() >= waitNanos
                    && !other.isStalled(now)) {
                lowest = its;
                best = other;
            }
        }
        return best;
    }

    private boolean isStalled(long nowNanos) {
        long since = wokenNanos.get();
        return since != 0 && nowNanos - since > STALLED_NANOS;
    }

    /**
     * Makes this event loop look for permits. It wakes another loop if it leaves any. Any thread.
     *
     * @return false if the embedding program has shut down the event loop, so that its requests no
     *     longer take precedence
     */
    private boolean wake() {
        if (!loop.isShutdown()) {
            // The value is never 0, which means no wake-up. The clock would return the time at
            // which the turn began, perhaps long ago.
            if (!wokenNanos.compareAndSet(0, loop.ticker().nanoTime() | 1)) {
                return true;
            }
            if (Loops.execute(loop, onWoken)) {
                return true;
            }
        }
        waiting.hide();
        return false;
    }

    private void onWoken() {
        wokenNanos.set(0);
        serveWaiting();
    }

    private boolean anyPermit() {
        for (PoolShard shard : pool.shards()) {
            if (shard.free.permits() > 0) {
                return true;
            }
        }
        return false;
    }
}
