package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.observe.CapacitySnapshot.AdvisedBase;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Advises how large the base of one function should be, because of the traffic of the last hours.
 *
 * <p>A stream of the base costs money all the time, one of a launched worker only while it is
 * needed. So one more stream of the base pays if it is needed for a larger share of the time than
 * its price divided by that of a launched one. This is the newsvendor problem (K. J. Arrow, T.
 * Harris, J. Marschak, "Optimal Inventory Policy", Econometrica 1951).
 *
 * <p>The shares come from a histogram in which a second weighs less the longer it is ago. What
 * counts of a second is the highest concurrency of the half minute before it, because launched
 * workers are kept for about this time after a peak. Confined to the controller's thread.
 */
final class BaseAdvice {
    /** The time after which a second weighs 1/e. */
    private static final double MEMORY_SECONDS = TimeUnit.HOURS.toSeconds(2);
    /** The traffic of a shorter time is no reason for an advice. */
    private static final double FEWEST_SECONDS = TimeUnit.MINUTES.toSeconds(10);

    private static final long HELD_NANOS = TimeUnit.SECONDS.toNanos(30);
    /** A sample that is late stands for no longer than this. */
    private static final double MOST_SECONDS = 5;

    private static final double NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final double SECONDS_OF_HOUR = TimeUnit.HOURS.toSeconds(1);

    /** Below this number, each concurrency has a level of its own. Above, 16 levels double it. */
    private static final int EXACT = 32;

    private static final int LEVELS_OF_OCTAVE = 16;
    private static final int EXACT_BITS = Integer.numberOfTrailingZeros(EXACT);
    private static final int LEVELS = EXACT + (Integer.SIZE - 1 - EXACT_BITS) * LEVELS_OF_OCTAVE;

    private final double[] secondsByLevel = new double[LEVELS];
    private final WindowMax recent = new WindowMax(HELD_NANOS);
    private boolean started;
    private long sampledNanos;
    private double observedSeconds;

    /**
     * Records the concurrency of the function in this second.
     *
     * @param concurrency requests in flight and queued, 0 or more
     */
    void onSecond(long nowNanos, double concurrency) {
        double elapsed = started ? Math.min(MOST_SECONDS, (nowNanos - sampledNanos) / NANOS) : 0;
        started = true;
        sampledNanos = nowNanos;
        observedSeconds = Math.min(FEWEST_SECONDS, observedSeconds + elapsed);
        double kept = Math.exp(-elapsed / MEMORY_SECONDS);
        for (int i = 0; i < LEVELS; i++) {
            secondsByLevel[i] *= kept;
        }
        secondsByLevel[level(recent.add(nowNanos, (int) Math.ceil(concurrency)))] += elapsed;
    }

    /**
     * Returns the base that would have cost least, or {@code null} if too little traffic was seen.
     *
     * @param baseStreams the concurrency of the present base
     * @param utilization the share of its streams that a base should use
     * @param gigabytes the memory of a launched worker for each of its streams. A stream of the
     *     base is taken to have the same memory, and the CPU that Lambda gives with it
     */
    @Nullable
    AdvisedBase advise(int baseStreams, double utilization, double gigabytes) {
        if (observedSeconds < FEWEST_SECONDS) {
            return null;
        }
        double left = total() * AdvisedBase.GB_SECOND / AdvisedBase.LAMBDA_GB_SECOND;
        int level = LEVELS - 1;
        while (level > 0 && secondsByLevel[level] <= left) {
            left -= secondsByLevel[level];
            level--;
        }
        int streams = (int) Math.ceil(highest(level) / utilization);
        return new AdvisedBase(
                streams,
                gigabytes * dollarsPerHour(streams, utilization),
                gigabytes * dollarsPerHour(baseStreams, utilization));
    }

    private double total() {
        double total = 0;
        for (double each : secondsByLevel) {
            total += each;
        }
        return total;
    }

    /** Returns the price of a base, and of launched workers beside it, if a stream has one GB. */
    private double dollarsPerHour(int streams, double utilization) {
        double launchedSeconds = 0;
        for (int i = 0; i < LEVELS; i++) {
            double middle = (highest(i) + highest(i - 1) + 1) / 2;
            launchedSeconds += secondsByLevel[i] * Math.max(0, middle / utilization - streams);
        }
        double launched = launchedSeconds / total();
        return SECONDS_OF_HOUR * (streams * AdvisedBase.GB_SECOND + launched * AdvisedBase.LAMBDA_GB_SECOND);
    }

    private static int level(int concurrency) {
        if (concurrency < EXACT) {
            return Math.max(0, concurrency);
        }
        int octave = Integer.SIZE - 1 - Integer.numberOfLeadingZeros(concurrency) - EXACT_BITS;
        int part = (concurrency >> octave + 1) & LEVELS_OF_OCTAVE - 1;
        return EXACT + octave * LEVELS_OF_OCTAVE + part;
    }

    /** Returns the highest concurrency of a level; -1 for the level below the first. */
    private static double highest(int level) {
        if (level < EXACT) {
            return level;
        }
        int octave = (level - EXACT) / LEVELS_OF_OCTAVE;
        int part = (level - EXACT) % LEVELS_OF_OCTAVE;
        return (double) ((long) (LEVELS_OF_OCTAVE + part + 1) << octave + 1) - 1;
    }
}
