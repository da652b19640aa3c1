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
    private CapacityPolicy policy;
    private final OfferedLoad load = new OfferedLoad();
    private final Backlog backlog = new Backlog();
    private final SpendMeter spend;
    private final WindowMax recentlyWanted;

    /** The need of clients that are almost idle. It is enough for one worker. */
    private static final double LEAST_STREAMS = 0.001;

    private boolean everRequested;
    private long lastRequestNanos;
    private long arrivedBefore;
    private double neededStreams;
    private int affordable = Integer.MAX_VALUE;
    private int wanted;
    private int kept;

    WorkerTarget(FunctionOptions function) {
        policy = function.capacity();
        spend = new SpendMeter(
                function.launching().gbSecondsPerHour(), function.launching().workerMegabytes());
        recentlyWanted = new WindowMax(policy.scaleInAfter().toNanos());
    }

    void setOptions(FunctionOptions function) {
        policy = function.capacity();
        spend.setLimits(
                function.launching().gbSecondsPerHour(), function.launching().workerMegabytes());
        recentlyWanted.setWindow(policy.scaleInAfter().toNanos());
    }

    /**
     * Takes a new sample of the pool.
     *
     * @param workers those of this dispatcher, and those that it shares with others
     * @param startNanos mean time from launch until a worker is ready
     */
    void onSample(long nowNanos, Demand demand, FleetView fleet, WorkerLives workers, long startNanos) {
        double exchangesPerWorker = workers.exchangesPerWorker();
        int capacity = fleet.workers() + workers.count(worker -> worker.isCapacity(nowNanos));
        load.onSample(nowNanos, demand);
        backlog.onSample(nowNanos, demand, workers.count(WorkerLife::isStarting), startNanos);
        spend.advance(nowNanos, workers.count(worker -> worker.ours));
        rememberRequests(nowNanos, demand);
        neededStreams = neededStreams(nowNanos, demand, capacity * exchangesPerWorker - fleet.streams(), startNanos);
        int needed =
                (int) Math.min(Integer.MAX_VALUE, Math.ceil((neededStreams + fleet.streams()) / exchangesPerWorker));
        int spare = needed > 0 || policy.minWorkers() > 0 ? policy.warmWorkers() : 0;
        int within = (int) Math.min(policy.maxWorkers(), Math.max(policy.minWorkers(), (long) needed + spare));
        affordable = fleet.prepaid() ? Integer.MAX_VALUE : spend.affordableWorkers();
        wanted = Math.min(within, affordable);
        kept = Math.min(recentlyWanted.add(nowNanos, wanted), affordable);
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

    private double neededStreams(long nowNanos, Demand demand, double supply, long startNanos) {
        if (!everRequested || nowNanos - lastRequestNanos >= policy.idleAfter().toNanos() && isIdle(demand)) {
            return 0;
        }
        double queued = backlog.streams(nowNanos, demand, load, supply, startNanos);
        double streams = Math.max(load.streams() * (1 + policy.headroom()), demand.busy() + queued);
        return Math.max(LEAST_STREAMS, streams);
    }

    /** Returns how many worker streams the clients of this dispatcher need. */
    double neededStreams() {
        return neededStreams;
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
     * Returns for how long the spending limit allows no worker, or {@code null} if it allows one.
     */
    @Nullable
    LaunchPause pause(long nowNanos) {
        return affordable > 0
                ? null
                : new LaunchPause(
                        "launches are blocked by the spending limit",
                        nowNanos + spend.nanosUntilAffordable(nowNanos),
                        false);
    }

    /**
     * Returns why fewer workers are wanted than the traffic needs, in one line, or {@code null} if
     * the spending limit allows enough.
     */
    @Nullable
    String obstacle() {
        return affordable < policy.maxWorkers() && wanted == affordable
                ? "launching is limited by the spending limit: " + Math.round(spend.ceilingGbSeconds())
                        + " GB-seconds per hour"
                : null;
    }
}
