package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.observe.ServiceTimes;

/**
 * Quantiles of recent durations: each duration has half of the weight after 1,000 further ones. A
 * quantile is at most 25 % too high. Confined to one event loop.
 */
public final class RecentTimes {
    /** With fewer durations, no quantile is known. */
    static final int FEWEST = 100;

    private static final int HALVE_EVERY = 1000;

    /** A quantile is calculated again after this number of durations. */
    private static final int STALE_AFTER = 20;

    private final ServiceTimes times = new ServiceTimes();
    private int sinceHalved;
    private int sinceCalculated = STALE_AFTER;
    private double calculated;
    private long nanos;

    public void record(long duration) {
        times.record(duration);
        sinceCalculated++;
        if (++sinceHalved == HALVE_EVERY) {
            sinceHalved = 0;
            times.halve();
        }
    }

    /** Returns a quantile in nanoseconds, or 0 if too few durations are known. */
    public long quantileNanos(double quantile) {
        if (times.count() < FEWEST) {
            return 0;
        }
        if (sinceCalculated >= STALE_AFTER || quantile != calculated) {
            sinceCalculated = 0;
            calculated = quantile;
            nanos = times.quantileNanos(quantile);
        }
        return nanos;
    }
}
