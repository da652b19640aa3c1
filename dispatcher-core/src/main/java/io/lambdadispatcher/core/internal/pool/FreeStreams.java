package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.loop.LoopClock;
import io.netty.channel.EventLoop;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The free worker streams of one event loop, and the permits for them. A permit is the right to one
 * free stream. Any loop can take it atomically. The streams' own loop decides which stream it
 * becomes.
 *
 * <p><i>Invariant:</i> permits = streams that the worker connections offer − permits that were
 * taken but not used yet. So no stream is promised to two requests. The count is below zero for a
 * moment if streams close whose permits are taken. Such a permit finds no stream, and {@link
 * WakeUps#onPermitUnused} returns it.
 *
 * <p>A connection is a candidate while it offers a stream. Whoever changes what a connection can
 * take must call {@link #settle} in the same turn of the event loop.
 *
 * <p><i>Threading:</i> {@link #tryAcquire} and {@link #permits} may be called on any thread. All
 * other methods must be called on the event loop.
 */
final class FreeStreams {
    private final EventLoop loop;
    private final LoopClock clock;
    private final AtomicInteger permits = new AtomicInteger();
    private final LeastOutstanding<PooledConnection> candidates = new LeastOutstanding<>();

    // The worker connection that got the last exchange, and when.
    private @Nullable PooledConnection lastTaken;
    private long lastTakenNanos;

    FreeStreams(EventLoop loop, LoopClock clock) {
        this.loop = loop;
        this.clock = clock;
    }

    /** Returns the permits that are left; may be negative for a moment. Any thread. */
    int permits() {
        return permits.get();
    }

    /**
     * Takes a permit for one free stream. The caller must use it with {@link #take} or {@link
     * #takeOf} on the event loop, or return it with {@link WakeUps#onPermitUnused}. Any thread.
     *
     * @return false if there is none
     */
    boolean tryAcquire() {
        int seen = permits.get();
        while (seen > 0) {
            if (permits.compareAndSet(seen, seen - 1)) {
                return true;
            }
            seen = permits.get();
        }
        return false;
    }

    /** Returns a permit that was not used. Only {@link WakeUps} calls this. */
    void release() {
        permits.incrementAndGet();
    }

    /**
     * Takes a free stream of the least busy worker connection, or of the one that got the previous
     * exchange of this turn of the event loop. The caller must hold a permit.
     *
     * @param avoided the workers whose streams must not be taken
     * @return {@code null} if no such stream is free
     */
    @Nullable
    Carrier take(List<String> avoided) {
        assert loop.inEventLoop();
        PooledConnection member = avoided.isEmpty() ? leastOrLast() : leastExcept(avoided);
        return member == null ? null : takeFrom(member);
    }

    /**
     * Takes a free stream of this worker connection. The caller must hold a permit.
     *
     * @return {@code null} if it has none any more
     */
    @Nullable
    Carrier takeOf(PooledConnection wanted) {
        assert loop.inEventLoop();
        return wanted.offered > 0 ? takeFrom(wanted) : null;
    }

    private Carrier takeFrom(PooledConnection member) {
        Carrier stream = member.take(clock.nanoTime());
        // The permit count is already lower: tryAcquire took the permit.
        member.offered--;
        settle(member);
        return stream;
    }

    /**
     * Returns the worker connection for the next exchange. All exchanges that one connection gets
     * within a turn share one write, one packet and one wake-up of the worker. So the connection
     * that got the previous exchange gets the next one, too, until it is {@code batch} exchanges
     * ahead of the least busy connection. Workers that are in doubt come last.
     */
    private @Nullable PooledConnection leastOrLast() {
        PooledConnection least = candidates.least();
        PooledConnection last = lastTaken;
        // The clock shows one time throughout a turn.
        long now = clock.nanoTime();
        boolean sameTurn = now == lastTakenNanos;
        lastTakenNanos = now;
        if (least != null && least.isDoubted(now)) {
            least = leastDoubted(least, now);
        }
        if (sameTurn
                && least != null
                && last != null
                && last.offered > 0
                && last.rank() < least.rank() + last.batch
                && !last.isDoubted(now)) {
            return last;
        }
        lastTaken = least;
        return least;
    }

    private PooledConnection leastDoubted(PooledConnection least, long nowNanos) {
        PooledConnection sound = candidates.least(each -> !each.isDoubted(nowNanos));
        PooledConnection other = sound != null ? sound : candidates.least(each -> !each.hasJustFailed(nowNanos));
        return other == null ? least : other;
    }

    private @Nullable PooledConnection leastExcept(List<String> workerIds) {
        return candidates.least(member -> !workerIds.contains(member.workerId()));
    }

    /** Returns whether a worker that is not among {@code workerIds} offers a stream. */
    boolean hasExcept(List<String> workerIds) {
        return leastExcept(workerIds) != null;
    }

    /** Returns whether only workers that are in doubt offer streams; false if none does. */
    boolean areAllDoubted() {
        PooledConnection least = candidates.least();
        long now = clock.nanoTime();
        return least != null && least.isDoubted(now) && candidates.least(each -> !each.isDoubted(now)) == null;
    }

    /**
     * Updates the permits and the member's rank after the number of exchanges that the member can
     * take has changed.
     */
    void settle(PooledConnection member) {
        assert loop.inEventLoop();
        int offers = member.offers();
        if (offers != member.offered) {
            permits.addAndGet(offers - member.offered);
            member.offered = offers;
        }
        if (offers == 0) {
            candidates.remove(member);
        } else {
            candidates.put(member, member.rank());
        }
    }

    /** Drops the last reference to a connection that is gone and offers no stream any more. */
    void forget(PooledConnection member) {
        lastTaken = lastTaken == member ? null : lastTaken;
    }
}
