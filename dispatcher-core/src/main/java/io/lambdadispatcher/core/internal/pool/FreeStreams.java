package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.loop.LoopClock;
import io.netty.channel.EventLoop;
import java.util.List;
import java.util.concurrent.TimeUnit;
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
 * <p>If a function has base workers and launched ones, base workers come first below their target.
 * A <i>base permit</i> is the right to the preference of one stream, which comes with a permit.
 * Base permits = what the base workers below their targets can take − base permits that were taken
 * but not used yet. No request waits for a base permit, so {@link WakeUps} does not look at them.
 *
 * <p>A connection is a candidate while it offers a stream. Whoever changes what a connection can
 * take must call {@link #settle} in the same turn of the event loop.
 *
 * <p><i>Threading:</i> {@link #tryAcquire}, {@link #tryAcquireBase}, {@link #permits} and
 * {@link #basePermits} may be called on any thread. All other methods must be called on the event
 * loop.
 */
final class FreeStreams {
    /** When a base worker in doubt is looked at again: after the time of a doubt. */
    private static final long LOOK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(200) + 1;

    private final EventLoop loop;
    private final LoopClock clock;
    private final AtomicInteger permits = new AtomicInteger();
    private final AtomicInteger basePermits = new AtomicInteger();
    private final LeastOutstanding<PooledConnection> candidates = new LeastOutstanding<>();
    /** The candidates that contribute base permits. They are not among the others. */
    private final LeastOutstanding<PooledConnection> preferred = new LeastOutstanding<>();

    /** The target of base workers, as a part of their streams; 0 = all workers are of one kind. */
    private double baseUtilization;

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

    /** Returns the base permits that are left; may be negative for a moment. Any thread. */
    int basePermits() {
        return basePermits.get();
    }

    /**
     * Takes a permit for one free stream. The caller must use it with {@link #take} or {@link
     * #takeOf} on the event loop, or return it with {@link WakeUps#onPermitUnused}. Any thread.
     *
     * @return false if there is none
     */
    boolean tryAcquire() {
        return tryTake(permits);
    }

    private static boolean tryTake(AtomicInteger count) {
        int seen = count.get();
        while (seen > 0) {
            if (count.compareAndSet(seen, seen - 1)) {
                return true;
            }
            seen = count.get();
        }
        return false;
    }

    /** Returns a permit that was not used. Only {@link WakeUps} calls this. */
    void release() {
        permits.incrementAndGet();
    }

    /** Returns whether base workers come first, because there are launched ones, too. */
    boolean isBaseFirst() {
        return baseUtilization > 0;
    }

    /**
     * Takes a permit and a base permit, which the caller must use with {@link #takeBase} on the
     * event loop. Any thread.
     *
     * @return false if there is none of either
     */
    boolean tryAcquireBase() {
        if (!tryTake(basePermits)) {
            return false;
        }
        boolean acquired = tryTake(permits);
        if (!acquired) {
            basePermits.incrementAndGet();
        }
        return acquired;
    }

    /**
     * Takes a free stream of the least busy base worker below its target. Uses the base permit.
     *
     * @return {@code null} if there is none any more. Then the caller still has the permit
     */
    @Nullable
    Carrier takeBase() {
        assert loop.inEventLoop();
        PooledConnection least = preferred.least();
        while (least != null && least.isDoubted(clock.nanoTime())) {
            settle(least); // It is no longer preferred.
            least = preferred.least();
        }
        PooledConnection member = least == null ? null : leastOrLast(preferred);
        if (member == null) {
            basePermits.incrementAndGet();
            return null;
        }
        member.preference.permits--;
        return takeFrom(member);
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
        PooledConnection member = avoided.isEmpty() ? leastOrLast(candidates) : leastExcept(avoided);
        if (member == null && avoided.isEmpty()) {
            member = preferred.least();
        }
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
    private @Nullable PooledConnection leastOrLast(LeastOutstanding<PooledConnection> from) {
        PooledConnection least = from.least();
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
                && last.isFirst == least.isFirst
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
        PooledConnection first = preferred.least(member -> !workerIds.contains(member.workerId()));
        return first != null ? first : candidates.least(member -> !workerIds.contains(member.workerId()));
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
        if (member.isBase() && (isBaseFirst() || member.isFirst)) {
            settlePreference(member);
        }
        if (offers == 0) {
            listOf(member).remove(member);
        } else {
            listOf(member).put(member, member.rank());
        }
    }

    private LeastOutstanding<PooledConnection> listOf(PooledConnection member) {
        return member.isFirst ? preferred : candidates;
    }

    /** Updates the base permits, and whether the member is among the preferred candidates. */
    private void settlePreference(PooledConnection member) {
        PooledConnection.Preference its = member.preference;
        its.distrusted = member.isDoubted(clock.nanoTime());
        int room = isBaseFirst() ? member.preferredRoom(baseUtilization) : 0;
        if (room != its.permits) {
            basePermits.addAndGet(room - its.permits);
            its.permits = room;
        }
        if (room > 0 != member.isFirst) {
            listOf(member).remove(member);
            member.isFirst = !member.isFirst;
        }
        if (its.distrusted && member.offered > 0 && !its.looksAgain) {
            lookAgainAt(member);
        }
    }

    /** A doubt can end by time alone, if other workers get all requests. */
    private void lookAgainAt(PooledConnection member) {
        member.preference.looksAgain = true;
        loop.schedule(
                () -> {
                    member.preference.looksAgain = false;
                    settle(member);
                },
                LOOK_AGAIN_NANOS,
                TimeUnit.NANOSECONDS);
    }

    /**
     * Sets how many requests base workers get before launched ones do. The caller must {@link
     * #settle} all base workers.
     *
     * @param utilization the target, as a part of their streams; 0 = all workers are of one kind
     */
    void setBaseUtilization(double utilization) {
        assert loop.inEventLoop();
        baseUtilization = utilization;
    }

    /** Drops the last reference to a connection that is gone and offers no stream any more. */
    void forget(PooledConnection member) {
        lastTaken = lastTaken == member ? null : lastTaken;
    }
}
