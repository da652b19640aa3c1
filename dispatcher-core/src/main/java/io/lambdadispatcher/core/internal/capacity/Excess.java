package io.lambdadispatcher.core.internal.capacity;

import java.util.concurrent.TimeUnit;

/**
 * Calculates how many streams of launched workers the traffic needs beside the base: what exceeds
 * the base's target, and the headroom of this excess. The headroom is two standard deviations of
 * the concurrency, less what the base has above its target, because overflow is burstier than its
 * source: a fixed share of a small excess would be nothing, and its deviation is that of the whole.
 *
 * <p>The deviation follows from the mean absolute change from one second to the next. Unlike the
 * variance around a mean, it is not raised for long by one step of the traffic.
 */
final class Excess {
    private static final double DEVIATIONS = 2;
    /** The standard deviation of a normal variable, as a multiple of its mean absolute change. */
    private static final double DEVIATION_OF_CHANGE = Math.sqrt(Math.PI) / 2;

    private static final double NEARLY_A_SECOND = TimeUnit.SECONDS.toNanos(1) * 0.9;
    private static final double MEMORY_SECONDS = 15;

    private boolean started;
    private long sampledNanos;
    private int concurrency;
    private double meanChange;

    /** Records how much the concurrency changes within a second. */
    void onSample(long nowNanos, Demand demand) {
        if (started && nowNanos - sampledNanos < NEARLY_A_SECOND) {
            return;
        }
        int now = demand.busy() + demand.pending();
        if (started) {
            meanChange += (Math.abs(now - concurrency) - meanChange) / MEMORY_SECONDS;
        }
        started = true;
        sampledNanos = nowNanos;
        concurrency = now;
    }

    /**
     * Calculates the streams of launched workers that are needed.
     *
     * @param mean mean concurrency of the traffic
     * @param instant exchanges in flight, and streams that the queue needs
     * @param base exchanges that the base can serve concurrently, above 0
     * @param target those that it should serve
     */
    double calculate(double mean, double instant, double base, double target) {
        double above = mean - target;
        double headroom = DEVIATIONS * DEVIATION_OF_CHANGE * meanChange - (base - target);
        double lasting = above <= 0 ? 0 : above + Math.max(0, headroom);
        return Math.max(0, Math.max(lasting, instant - base));
    }
}
