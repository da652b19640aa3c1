package io.lambdadispatcher.core.internal.policy;

import io.lambdadispatcher.core.options.Priority;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Shares the worker streams of a function between priorities while requests wait, and decides which
 * requests do not wait.
 *
 * <p><i>Order:</i> while all priorities wait, critical requests are served 4 times as often as
 * normal ones, and 16 times as often as sheddable ones. This is self-clocked fair queueing
 * (Golestani) with weights, in which no priority starves. Requests of one priority are served in
 * the order of arrival.
 *
 * <p><i>Shedding:</i> each priority except critical has a limit of the time in the queue. A new
 * request is refused if it would probably wait longer: its place among the requests of its
 * priority, multiplied by the mean time between two turns of the priority. A request whose turn
 * comes is refused if it has waited for twice the limit, because workers have become slower since
 * it was queued. The estimate needs no time to react, so the queue of a priority neither overshoots
 * nor runs empty. {@code PrioritySimulationTest} compares this rule with others.
 *
 * <p><i>Event loops:</i> all loops share the tags, counts and means. Loops may overwrite each
 * other's means, which loses a sample. Called only for requests that wait, so it costs nothing
 * while worker streams are free.
 *
 * <p><i>Threading:</i> any thread.
 */
public final class PriorityShares {
    private static final int NORMAL_LIMITS = 4;
    private static final int SAMPLES = 16;
    private static final Priority[] ALL = Priority.values();

    private final AtomicIntegerArray waiting = new AtomicIntegerArray(ALL.length);
    private final AtomicLongArray tags = new AtomicLongArray(ALL.length);
    private final AtomicLongArray turnsNanos = new AtomicLongArray(ALL.length);
    private final AtomicLongArray meansNanos = new AtomicLongArray(ALL.length);

    /**
     * Returns the tag of the next request of this priority in the queue, which serves the lowest
     * tag first.
     *
     * @param virtualTime the tag that was served last
     */
    public long nextTag(Priority priority, long virtualTime) {
        int cost = cost(priority);
        return tags.accumulateAndGet(priority.ordinal(), virtualTime, (last, now) -> Math.max(last, now) + cost);
    }

    private static int cost(Priority priority) {
        return switch (priority) {
            case CRITICAL -> 1;
            case NORMAL -> 4;
            case SHEDDABLE -> 16;
        };
    }

    /**
     * Returns the maximum number of queued requests with which one of this priority may be queued.
     * Otherwise, a queue full of sheddable requests would keep out critical ones.
     *
     * @param limit the maximum for critical requests
     */
    public static int queueLimit(Priority priority, int limit) {
        return switch (priority) {
            case CRITICAL -> limit;
            case NORMAL -> limit - limit / 4;
            case SHEDDABLE -> limit - limit / 2;
        };
    }

    /**
     * A request is queued. {@link #onLeft} must follow once.
     *
     * @param first whether no other request of the function waits. What was measured is then out of
     *     date
     */
    public void onQueued(Priority priority, boolean first) {
        waiting.incrementAndGet(priority.ordinal());
        for (int i = 0; first && i < ALL.length; i++) {
            meansNanos.set(i, 0);
        }
    }

    /** A request is no longer queued. */
    public void onLeft(Priority priority) {
        waiting.decrementAndGet(priority.ordinal());
    }

    /**
     * Returns whether a new request is refused because it would probably wait for too long. It is
     * not if no other of its priority waits, so that the mean is measured again.
     *
     * @param shedNanos the limit for sheddable requests
     */
    public boolean refuses(Priority priority, long shedNanos) {
        int index = priority.ordinal();
        int ahead = waiting.get(index);
        return ahead > 0 && (ahead + 1) * meansNanos.get(index) > limitNanos(priority, shedNanos);
    }

    /**
     * Returns whether a request whose turn has come is refused because it has waited for too long.
     *
     * @param shedNanos the limit for sheddable requests
     * @param waitedNanos how long it has waited while workers were connected
     */
    public boolean sheds(Priority priority, long shedNanos, long waitedNanos, long nowNanos) {
        int index = priority.ordinal();
        long sinceTurnNanos = nowNanos - turnsNanos.getAndSet(index, nowNanos);
        // Otherwise, no request of this priority has waited for a part of the time.
        if (sinceTurnNanos >= 0 && waitedNanos >= sinceTurnNanos) {
            long mean = meansNanos.get(index);
            meansNanos.set(index, mean == 0 ? sinceTurnNanos : mean + (sinceTurnNanos - mean) / SAMPLES);
        }
        return waitedNanos / 2 > limitNanos(priority, shedNanos);
    }

    private static long limitNanos(Priority priority, long shedNanos) {
        return switch (priority) {
            case CRITICAL -> Long.MAX_VALUE;
            case NORMAL -> NORMAL_LIMITS * shedNanos;
            case SHEDDABLE -> shedNanos;
        };
    }
}
