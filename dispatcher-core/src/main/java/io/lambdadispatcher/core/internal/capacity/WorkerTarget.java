package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import org.jspecify.annotations.Nullable;

/**
 * Calculates how many workers one function should have, within its capacity policy and its spending
 * limit. The number follows from the {@link OfferedLoad}, or from the exchanges in flight and the
 * {@link Backlog} if these need more workers.
 */
final class WorkerTarget {
    private final CapacityPolicy policy;
    private final OfferedLoad load = new OfferedLoad();
    private final Backlog backlog = new Backlog();
    private final SpendMeter spend;
    private final WindowMax recentlyWanted;

    private boolean everRequested;
    private long lastRequestNanos;
    private long arrivedBefore;
    private int wanted;
    private int kept;

    WorkerTarget(FunctionOptions function) {
        policy = function.capacity();
        spend = new SpendMeter(
                function.launching().gbSecondsPerHour(), function.launching().workerMegabytes());
        recentlyWanted = new WindowMax(policy.scaleInAfter().toNanos());
    }

    /**
     * Takes a new sample of the pool.
     *
     * @param alive workers that were charged for since the previous sample
     * @param exchangesPerWorker concurrent exchanges that one worker may have
     */
    void onSample(long nowNanos, Demand demand, int alive, double exchangesPerWorker) {
        load.onSample(nowNanos, demand);
        backlog.onSample(nowNanos, demand.pending());
        spend.advance(nowNanos, alive);
        rememberRequests(nowNanos, demand);
        int needed = neededWorkers(nowNanos, demand, exchangesPerWorker);
        int spare = needed > 0 || policy.minWorkers() > 0 ? policy.warmWorkers() : 0;
        int within = (int) Math.min(policy.maxWorkers(), Math.max(policy.minWorkers(), (long) needed + spare));
        wanted = Math.min(within, spend.affordableWorkers());
        kept = Math.min(recentlyWanted.add(nowNanos, wanted), spend.affordableWorkers());
    }

    private void rememberRequests(long nowNanos, Demand demand) {
        if (demand.arrived() != arrivedBefore || !isIdle(demand)) {
            everRequested = true;
            lastRequestNanos = nowNanos;
            arrivedBefore = demand.arrived();
        }
    }

    private static boolean isIdle(Demand demand) {
        return demand.busy() + demand.pending() == 0;
    }

    private int neededWorkers(long nowNanos, Demand demand, double exchangesPerWorker) {
        if (!everRequested || nowNanos - lastRequestNanos >= policy.idleAfter().toNanos() && isIdle(demand)) {
            return 0;
        }
        double streams = Math.max(
                load.streams() * (1 + policy.headroom()), demand.busy() + backlog.streams(load.meanServiceNanos()));
        return (int) Math.max(1, Math.min(Integer.MAX_VALUE, Math.ceil(streams / exchangesPerWorker)));
    }

    /** Returns how many workers there should be now. */
    int wanted() {
        return wanted;
    }

    /** Returns how many workers scale-in keeps: the most that were wanted recently. */
    int kept() {
        return kept;
    }

    SpendMeter spend() {
        return spend;
    }

    /**
     * Returns why fewer workers are wanted than the traffic needs, in one line, or {@code null} if
     * the spending limit allows enough.
     */
    @Nullable
    String obstacle() {
        int affordable = spend.affordableWorkers();
        return affordable < policy.maxWorkers() && wanted == affordable
                ? "launching is limited by the spending limit: " + Math.round(spend.ceilingGbSeconds())
                        + " GB-seconds per hour"
                : null;
    }
}
