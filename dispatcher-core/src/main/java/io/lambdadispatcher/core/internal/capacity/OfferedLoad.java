package io.lambdadispatcher.core.internal.capacity;

import java.util.concurrent.TimeUnit;

/**
 * Little's law (J. D. C. Little, "A Proof for the Queuing Formula L = λW", 1961): the worker
 * streams that the traffic keeps busy are its arrival rate times its time in service. Rates are
 * exponentially weighted means; of a fast one and a slow one the larger counts, so that a rise is
 * seen at once and a dip is not.
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
    // Decaying sums: a few long requests that end last do not outweigh the many that ended before.
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

    /** Worker streams that are busy on average, if there are enough. */
    double streams() {
        return Math.max(fastPerNano, slowPerNano) * meanServiceNanos();
    }

    /** Of the requests of late; 0 as long as none has ended. */
    double meanServiceNanos() {
        return recentCompleted == 0 ? 0 : recentServiceNanos / recentCompleted;
    }
}
