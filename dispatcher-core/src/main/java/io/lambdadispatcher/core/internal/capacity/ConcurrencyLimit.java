package io.lambdadispatcher.core.internal.capacity;

import java.util.concurrent.TimeUnit;

/**
 * The maximum number of concurrent exchanges of one worker: its stream count, or less if it is
 * overloaded. The limit follows additive increase, multiplicative decrease (D.-M. Chiu, R. Jain,
 * 1989). A decrease needs a worker that reports late event loops or a full heap. Latency does not
 * count on purpose: requests of one function differ, and slow requests do not prove overload.
 */
final class ConcurrencyLimit {
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final double DECREASE = 0.7;
    private static final int LATE_MICROS = 250_000;
    private static final int FULL_PERMILLE = 970;

    private int most;
    private double limit;
    private int imposed = Plan.Limit.NONE;
    private boolean decreased;
    private long decreasedNanos;

    ConcurrencyLimit(int most) {
        this.most = most;
        this.limit = most;
    }

    int value() {
        return Math.max(1, (int) limit);
    }

    /** Returns whether the limit is below the stream count. */
    boolean isReduced() {
        return value() < most;
    }

    /** Returns what the pool is to be told: the value, or that the worker is not limited. */
    private int wanted() {
        return isReduced() ? value() : Plan.Limit.NONE;
    }

    /** Returns what the pool is told from now on. */
    int impose() {
        imposed = wanted();
        return imposed;
    }

    /** Returns 0 if the pool knows the limit, below 0 if the limit is lower than it knows. */
    int unimposed() {
        return Integer.compare(wanted(), imposed);
    }

    /**
     * Replaces the stream count. A limit that is reduced remains the same share of it.
     *
     * @return whether the stream count has changed
     */
    boolean setStreams(int value) {
        boolean changed = value != most;
        limit = limit * value / most;
        most = value;
        return changed;
    }

    /** Decreases the limit if the worker's load report shows overload. */
    void onReport(long nowNanos, int memoryPermille, int loopLagMicros) {
        if (loopLagMicros >= LATE_MICROS || memoryPermille >= FULL_PERMILLE) {
            decrease(nowNanos);
        }
    }

    /**
     * Increases the limit if it was reached; called once a second.
     *
     * @param peakBusy the most concurrent exchanges since the previous call
     */
    void onSecond(long nowNanos, int peakBusy) {
        boolean resting = decreased && nowNanos - decreasedNanos < PAUSE_NANOS;
        if (!resting && limit < most && peakBusy >= value()) {
            limit = Math.min(most, limit + Math.max(1, most / 20.0));
        }
    }

    private void decrease(long nowNanos) {
        if (!decreased || nowNanos - decreasedNanos >= PAUSE_NANOS) {
            decreased = true;
            decreasedNanos = nowNanos;
            limit = Math.max(Math.max(1, most / 20.0), limit * DECREASE);
        }
    }
}
