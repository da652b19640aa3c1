package io.lambdadispatcher.core.internal.capacity;

import java.util.concurrent.TimeUnit;

/**
 * How many exchanges one worker is given at once: its stream count, less where it cannot cope.
 * Additive increase, multiplicative decrease (D.-M. Chiu, R. Jain, 1989) on what the worker itself
 * reports: event loops that are late, a heap that is full. Latency is left out on purpose: requests
 * of one function differ, and slow ones are not too many ones.
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

    /** A load report has come. */
    void onReport(long nowNanos, int memoryPermille, int loopLagMicros) {
        if (loopLagMicros >= LATE_MICROS || memoryPermille >= FULL_PERMILLE) {
            decrease(nowNanos);
        }
    }

    /** Once a second. @param peakBusy the most exchanges at once since the last call */
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
