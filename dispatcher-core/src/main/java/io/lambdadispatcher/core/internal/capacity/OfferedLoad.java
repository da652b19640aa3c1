package io.lambdadispatcher.core.internal.capacity;

import java.util.concurrent.TimeUnit;

/**
 * Estimates the worker streams that the traffic keeps busy. By Little's law (J. D. C. Little, "A
 * Proof for the Queuing Formula L = λW", 1961), this is the arrival rate times the mean service
 * time. The arrival rate is the larger of a fast and a slow exponentially weighted mean, so that it
 * follows a rise immediately and a dip slowly.
 */
public final class OfferedLoad {
    /** The time constant with which the estimate follows a rise. */
    public static final double FAST_NANOS = TimeUnit.SECONDS.toNanos(2);

    private static final double SLOW_NANOS = TimeUnit.SECONDS.toNanos(15);

    private boolean started;
    private long sampledNanos;
    private long arrived;
    private long completed;
    private long serviceNanos;
    private double fastPerNano;
    private double slowPerNano;
    private double inFlight;
    // Decaying sums: a few long requests that just ended do not outweigh many earlier ones.
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
        // Totals shrink if the embedding program has shut down an event loop.
        double perNano = (double) Math.max(0, demand.arrived() - arrived) / elapsed;
        fastPerNano = blend(fastPerNano, perNano, elapsed, FAST_NANOS);
        inFlight = blend(inFlight, demand.busy(), elapsed, FAST_NANOS);
        slowPerNano = blend(slowPerNano, perNano, elapsed, SLOW_NANOS);
        double kept = Math.exp(-elapsed / SLOW_NANOS);
        recentServiceNanos = recentServiceNanos * kept + Math.max(0, demand.serviceNanos() - serviceNanos);
        recentCompleted = recentCompleted * kept + Math.max(0, demand.completed() - completed);
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

    /** Returns the mean number of busy worker streams, if there are enough streams. */
    double streams() {
        return Math.max(fastPerNano, slowPerNano) * meanServiceNanos();
    }

    /**
     * Returns the mean number of busy worker streams, if there are enough streams. Unlike {@link
     * #streams}, it follows a rise slowly and a dip immediately.
     */
    double lastingStreams() {
        return Math.min(fastPerNano, slowPerNano) * meanServiceNanos();
    }

    /**
     * Returns the mean number of requests in flight. Unlike the other means, it counts WebSockets,
     * event streams and others that are longer than they have been watched.
     */
    double inFlight() {
        return inFlight;
    }

    /** Returns the mean service time of recent requests, or 0 if none has ended yet. */
    double meanServiceNanos() {
        return recentCompleted == 0 ? 0 : recentServiceNanos / recentCompleted;
    }
}
