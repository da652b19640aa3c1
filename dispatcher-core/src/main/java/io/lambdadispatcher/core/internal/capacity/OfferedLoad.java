package io.lambdadispatcher.core.internal.capacity;

import java.util.concurrent.TimeUnit;

/**
 * Estimates how many worker streams the traffic keeps busy: arrival rate times time in service,
 * which is Little's law (J. D. C. Little, "A Proof for the Queuing Formula L = λW", 1961). Rates
 * are exponentially weighted means. The larger of a fast and a slow mean counts, so that the
 * estimate follows a rise immediately and a dip slowly.
 */
final class OfferedLoad {
    private static final double FAST_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final double SLOW_NANOS = TimeUnit.SECONDS.toNanos(15);

    private boolean started;
    private long sampledNanos;
    private long arrived;
    private long completed;
    private long serviceNanos;
    private double fastPerNano;
    private double slowPerNano;
    // Decaying sums, so that a few long requests that end last do not outweigh many that ended
    // before.
    private double recentServiceNanos;
    private double recentCompleted;

    void onSample(long nowNanos, Demand demand) {
        if (!started) {
            started = true;
            remember(nowNanos, demand);
            return;
        }
        long elapsed = nowNanos - sampledNanos;
        if (elapsed <= 0) {
            return;
        }
        double perNano = (double) (demand.arrived() - arrived) / elapsed;
        fastPerNano = blend(fastPerNano, perNano, elapsed, FAST_NANOS);
        slowPerNano = blend(slowPerNano, perNano, elapsed, SLOW_NANOS);
        double kept = Math.exp(-elapsed / SLOW_NANOS);
        recentServiceNanos = recentServiceNanos * kept + demand.serviceNanos() - serviceNanos;
        recentCompleted = recentCompleted * kept + demand.completed() - completed;
        remember(nowNanos, demand);
    }

    private void remember(long nowNanos, Demand demand) {
        sampledNanos = nowNanos;
        arrived = demand.arrived();
        completed = demand.completed();
        serviceNanos = demand.serviceNanos();
    }

    private static double blend(double mean, double value, long elapsedNanos, double constantNanos) {
        return mean + (value - mean) * -Math.expm1(-elapsedNanos / constantNanos);
    }

    /** Returns how many worker streams are busy on average if there are enough. */
    double streams() {
        return Math.max(fastPerNano, slowPerNano) * meanServiceNanos();
    }

    /** Returns the mean time in service of recent requests; 0 if none has ended yet. */
    double meanServiceNanos() {
        return recentCompleted == 0 ? 0 : recentServiceNanos / recentCompleted;
    }
}
