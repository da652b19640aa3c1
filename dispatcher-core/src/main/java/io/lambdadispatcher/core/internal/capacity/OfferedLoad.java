package io.lambdadispatcher.core.internal.capacity;

import java.util.concurrent.TimeUnit;

/**
 * Little's law (J. D. C. Little, "A Proof for the Queuing Formula L = λW", 1961): the worker streams that the traffic keeps busy are its
 * arrival rate times its time in service. Rates are exponentially weighted means; of a fast one and a slow one the larger counts, so
 * that a rise is seen at once and a dip is not.
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
    private double meanServiceNanos;

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
        long ended = demand.completed() - completed;
        if (ended > 0) {
            double mean = (double) (demand.serviceNanos() - serviceNanos) / ended;
            meanServiceNanos = meanServiceNanos == 0 ? mean : blend(meanServiceNanos, mean, elapsed, SLOW_NANOS);
        }
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
        return Math.max(fastPerNano, slowPerNano) * meanServiceNanos;
    }

    double arrivalsPerSecond() {
        return fastPerNano * TimeUnit.SECONDS.toNanos(1);
    }
}
