package io.lambdadispatcher.core.internal.policy;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Counts requests, and those of them that failed, in slots of 100 ms over the last 10 s.
 *
 * <p>A slot is one number: 24 bits say which time it is for, 20 bits count requests, and 20 bits
 * those that failed. So a request costs one atomic operation. A slot that is full counts no more.
 *
 * <p><i>Threading:</i> any thread.
 */
final class RecentFailures {
    /** With so many requests, no time before the last second is looked at. */
    private static final int ENOUGH = 100;

    private static final long SLOT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final int SECOND = 10;
    private static final int LONGEST = 100;

    /** A power of two, more than the slots that are read. */
    private static final int SLOTS = 128;

    private static final int BITS = 20;
    private static final int MAX = (1 << BITS) - 1;
    private static final long ALL_TIMES = (1 << 24) - 1;

    private final AtomicLongArray slots = new AtomicLongArray(SLOTS);

    void count(boolean failed, long nowNanos) {
        long time = Math.floorDiv(nowNanos, SLOT_NANOS);
        int index = (int) time & SLOTS - 1;
        long seen;
        long next;
        do {
            seen = slots.get(index);
            next = plusOne(isOf(seen, time) ? seen : (time & ALL_TIMES) << 2 * BITS, failed);
        } while (!slots.compareAndSet(index, seen, next));
    }

    /** Returns the counts with one more request, or unchanged if they are full. */
    static long plusOne(long counts, boolean failed) {
        return total(counts) == MAX ? counts : counts + (1L << BITS | (failed ? 1 : 0));
    }

    private static boolean isOf(long slot, long time) {
        return slot >>> 2 * BITS == (time & ALL_TIMES);
    }

    /**
     * Returns the counts of the last second, or of the shortest longer time that has enough
     * requests, up to 10 s. {@link #total} and {@link #failed} read them.
     */
    long last(long nowNanos) {
        long time = Math.floorDiv(nowNanos, SLOT_NANOS);
        long total = 0;
        long failed = 0;
        for (int i = 0; i < LONGEST && (i < SECOND || total < ENOUGH); i++) {
            long slot = slots.get((int) (time - i) & SLOTS - 1);
            if (isOf(slot, time - i)) {
                total += total(slot);
                failed += failed(slot);
            }
        }
        return Math.min(MAX, total) << BITS | Math.min(MAX, failed);
    }

    static int total(long counts) {
        return (int) (counts >>> BITS) & MAX;
    }

    static int failed(long counts) {
        return (int) counts & MAX;
    }
}
