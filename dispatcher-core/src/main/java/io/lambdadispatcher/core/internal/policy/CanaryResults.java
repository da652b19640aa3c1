package io.lambdadispatcher.core.internal.policy;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/**
 * What became of the requests of one side during one step: how many failed, and how long responses
 * took. Times are counted in four classes for each power of two of microseconds, so that a quantile
 * is exact to a quarter. Any thread.
 */
public final class CanaryResults implements Comparison.Results {
    private static final int CLASSES_PER_DOUBLING = 4;
    private static final int CLASSES = 32 * CLASSES_PER_DOUBLING;

    private final AtomicLongArray times = new AtomicLongArray(CLASSES);
    private final LongAdder completed = new LongAdder();
    private final LongAdder failed = new LongAdder();

    CanaryResults() {}

    void add(boolean failure, long nanos) {
        times.incrementAndGet(classOf(nanos));
        completed.increment();
        if (failure) {
            failed.increment();
        }
    }

    void addFailure() {
        failed.increment();
    }

    @Override
    public double completed() {
        return completed.sum();
    }

    @Override
    public double failed() {
        return failed.sum();
    }

    /** Returns how many responses took at least this time. Its class counts as a whole. */
    long slowerThan(long nanos) {
        long count = 0;
        for (int i = classOf(nanos); i < CLASSES; i++) {
            count += times.get(i);
        }
        return count;
    }

    /** Returns a time that this part of the responses did not exceed; 0 if there are none. */
    long quantileNanos(double quantile) {
        long left = (long) Math.ceil(quantile * completed());
        for (int i = 0; i < CLASSES && left > 0; i++) {
            left -= times.get(i);
            if (left <= 0) {
                return endNanos(i);
            }
        }
        return 0;
    }

    private static int classOf(long nanos) {
        long micros = Math.max(CLASSES_PER_DOUBLING, TimeUnit.NANOSECONDS.toMicros(nanos));
        int power = Long.SIZE - 1 - Long.numberOfLeadingZeros(micros);
        int part = (int) (micros >>> power - 2) & CLASSES_PER_DOUBLING - 1;
        return Math.min(power * CLASSES_PER_DOUBLING + part, CLASSES - 1);
    }

    private static long endNanos(int timeClass) {
        int power = timeClass / CLASSES_PER_DOUBLING;
        long parts = CLASSES_PER_DOUBLING + timeClass % CLASSES_PER_DOUBLING + 1;
        return TimeUnit.MICROSECONDS.toNanos((parts << power) / CLASSES_PER_DOUBLING);
    }
}
