package io.lambdadispatcher.server.live;

import java.util.concurrent.atomic.LongAdder;

/**
 * Counts durations from 0.1 ms to half an hour, in four buckets per power of two. Recording one
 * increments one counter, and allocates nothing. Any thread.
 */
final class LatencyCounts {
    private static final int SUB_BITS = 2;
    /** Durations below 2^17 ns, 0.13 ms, have one bucket. */
    private static final int FIRST_OCTAVE = 17;

    private static final int OCTAVES = 24;
    private static final int BUCKETS = (OCTAVES << SUB_BITS) + 1;

    private final LongAdder[] counts = new LongAdder[BUCKETS];

    LatencyCounts() {
        for (int i = 0; i < BUCKETS; i++) {
            counts[i] = new LongAdder();
        }
    }

    void record(long nanos) {
        counts[bucket(nanos)].increment();
    }

    /** Returns the counts since the start, one for each bucket. */
    long[] sums() {
        long[] sums = new long[BUCKETS];
        for (int i = 0; i < BUCKETS; i++) {
            sums[i] = counts[i].sum();
        }
        return sums;
    }

    /** Returns how many durations were recorded. */
    long total() {
        long total = 0;
        for (LongAdder count : counts) {
            total += count.sum();
        }
        return total;
    }

    /**
     * Returns the upper bound of the bucket that has the quantile of the durations between two
     * calls of {@link #sums}, in microseconds. It is at most 25 % too high.
     *
     * @return -1 if there was no duration
     */
    static long quantileMicros(long[] before, long[] now, double quantile) {
        long count = 0;
        for (int i = 0; i < BUCKETS; i++) {
            count += now[i] - before[i];
        }
        long rank = Math.max(1, (long) Math.ceil(quantile * count));
        long seen = 0;
        for (int i = 0; i < BUCKETS; i++) {
            seen += now[i] - before[i];
            if (seen >= rank) {
                return upperBoundNanos(i) / 1000;
            }
        }
        return -1;
    }

    private static int bucket(long nanos) {
        int octave = 63 - Long.numberOfLeadingZeros(Math.max(1, nanos));
        if (octave < FIRST_OCTAVE) {
            return 0;
        }
        int sub = (int) (nanos >>> (octave - SUB_BITS)) & ((1 << SUB_BITS) - 1);
        return Math.min(BUCKETS - 1, ((octave - FIRST_OCTAVE) << SUB_BITS) + sub + 1);
    }

    private static long upperBoundNanos(int bucket) {
        if (bucket == 0) {
            return 1L << FIRST_OCTAVE;
        }
        int octave = FIRST_OCTAVE + ((bucket - 1) >> SUB_BITS);
        int sub = ((bucket - 1) & ((1 << SUB_BITS) - 1)) + 1;
        return (1L << octave) + ((long) sub << (octave - SUB_BITS));
    }
}
