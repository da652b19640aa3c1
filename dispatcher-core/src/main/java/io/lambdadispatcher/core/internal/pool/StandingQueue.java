package io.lambdadispatcher.core.internal.pool;

import java.util.concurrent.TimeUnit;

/**
 * Since when a function's queue has not been empty, and so which of its requests are shed.
 *
 * <p>Requests are shed only if the queue has not been empty for the queue timeout while workers
 * were connected. Such a queue does not empty soon: in order of arrival, each request would be
 * served shortly before its timeout. Shedding stale requests lets fresh ones be served in time. A
 * younger queue, such as after a cold start, is not shed.
 *
 * <p>The limit of the wait falls from the longest wait so far to its least value. If it were low
 * immediately, all requests that wait at that time would be shed together, which is every request
 * that arrived within some seconds. While the limit falls by a part <i>p</i> of the time that
 * passes, requests are served in the order of arrival at 1 / (1 + <i>p</i>) of the possible rate.
 * <i>p</i> is the square of the longest wait, as a part of the timeout: a ninth if 1.5 times as
 * many requests arrive as can be served, four ninths if three times as many do. {@code
 * SheddingSimulationTest} compares this rule with CoDel and adaptive LIFO.
 *
 * <p><i>Threading:</i> any thread. Event loops may overwrite each other's longest waits, which
 * loses a sample.
 */
final class StandingQueue {
    private static final long MIN_STALE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private volatile long sinceNanos;
    private volatile long timeoutNanos;

    /** The longest wait of a request that was served before any was shed. */
    private volatile long longestNanos;

    /** The value of {@link #sinceNanos} for which {@link #longestNanos} holds. */
    private volatile long longestSinceNanos;

    StandingQueue(long timeoutNanos) {
        this.timeoutNanos = timeoutNanos;
    }

    void setTimeout(long nanos) {
        timeoutNanos = nanos;
    }

    long timeoutNanos() {
        return timeoutNanos;
    }

    /** Says that the queue begins to stand, or that it stood for a reason that has ended. */
    void begin(long nowNanos) {
        sinceNanos = nowNanos;
    }

    /**
     * Returns for how long a queued request has waited while workers were connected.
     *
     * @param since when it began to wait
     */
    long waitedNanos(long since, long nowNanos) {
        long stands = sinceNanos;
        return nowNanos - (since - stands > 0 ? since : stands);
    }

    /**
     * Returns whether the request at the head of the queue has waited too long and should be shed.
     *
     * @param since when it began to wait
     */
    boolean isStale(long since, long nowNanos) {
        long stands = sinceNanos;
        long waited = nowNanos - since;
        long longest = longestSinceNanos == stands ? longestNanos : 0;
        long beyond = nowNanos - stands - timeoutNanos;
        if (beyond < 0) {
            if (waited > longest) {
                longestNanos = waited;
                longestSinceNanos = stands;
            }
            return false;
        }
        double part = Math.min(1, (double) longest / timeoutNanos);
        long least = Math.max(MIN_STALE_NANOS, timeoutNanos / 20);
        return waited > Math.max(least, longest - (long) (beyond * part * part));
    }
}
