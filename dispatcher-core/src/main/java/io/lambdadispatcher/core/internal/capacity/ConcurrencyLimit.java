package io.lambdadispatcher.core.internal.capacity;

import java.util.concurrent.TimeUnit;

/**
 * Limits the exchanges in flight of one worker: to its number of streams, or to fewer if it is
 * overloaded. Additive increase, multiplicative decrease (D.-M. Chiu, R. Jain, 1989), based on the
 * load that the worker reports: late event loops and a full heap. Latency is not used, because
 * requests of one function differ, and a slow request does not mean that there are too many.
 */
final class ConcurrencyLimit {
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final double DECREASE = 0.7;
    private static final int LATE_MICROS = 250_000;
    private static final int FULL_PERMILLE = 970;

    private final int most;
    private double limit;
    private boolean decreased;
    private long decreasedNanos;

    ConcurrencyLimit(int most) {
        this.most = most;
        this.limit = most;
    }

    int value() {
        return Math.max(1, (int) limit);
    }

    /** Takes a load report. */
    void onReport(long nowNanos, int memoryPermille, int loopLagMicros) {
        if (loopLagMicros >= LATE_MICROS || memoryPermille >= FULL_PERMILLE) {
            decrease(nowNanos);
        }
    }

    /**
     * Called once a second.
     *
     * @param peakBusy maximum number of exchanges in flight since the previous call
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
