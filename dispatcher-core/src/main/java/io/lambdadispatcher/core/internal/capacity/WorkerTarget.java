package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import java.time.InstantSource;
import java.util.concurrent.TimeUnit;
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
    private final Excess excess = new Excess();
    private final SpendMeter spend;
    private final ScheduledWorkers scheduled;
    private final WindowMax recentlyWanted;
    /** The same without the schedule. */
    private final WindowMax recentlyOtherwise;

    /** The need of clients that are almost idle. It is enough for one worker. */
    private static final double LEAST_STREAMS = 0.001;

    /**
     * The price of a start, as a multiple of its time: 1 is what is billed, and the rest is the
     * price of the latency that it causes.
     */
    private static final int START_PRICE = 15;
    /** The time for which a worker is slow after its start, because its code is cold. */
    private static final long COLD_CODE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private boolean everRequested;
    private long lastRequestNanos;
    private long arrivedBefore;
    private double neededStreams;
    private double launchedStreams;
    private int tunnels;
    private int affordable = Integer.MAX_VALUE;
    private int needed;
    private int wanted;
    private int kept;
    private boolean limited;

    WorkerTarget(FunctionOptions function, InstantSource clock) {
        policy = function.capacity();
        spend = new SpendMeter(
                function.launching().gbSecondsPerHour(), function.launching().workerMegabytes());
        scheduled = new ScheduledWorkers(function, clock);
        recentlyWanted = new WindowMax(policy.scaleDownDelay().toNanos());
        recentlyOtherwise = new WindowMax(policy.scaleDownDelay().toNanos());
    }

    void setOptions(FunctionOptions function) {
        policy = function.capacity();
        scheduled.setOptions(function);
        spend.setLimits(
                function.launching().gbSecondsPerHour(), function.launching().workerMegabytes());
    }

    /**
     * Takes a new sample of the pool.
     *
     * @param workers those of this dispatcher, and those that it shares with others
     * @param startNanos mean time from launch until a worker is ready
     */
    void onSample(long nowNanos, Demand demand, FleetView fleet, WorkerLives workers, long startNanos) {
        double exchangesPerWorker = workers.exchangesPerWorker();
        int base = workers.base(WorkerLife::concurrency);
        int launched = fleet.workers() + workers.launchedCapacity(nowNanos);
        load.onSample(nowNanos, demand);
        excess.onSample(nowNanos, demand);
        backlog.onSample(nowNanos, demand, workers.count(WorkerLife::isStarting), startNanos, base > 0);
        meter(nowNanos, workers);
        rememberRequests(nowNanos, demand);
        int withheld = workers.withheld(nowNanos);
        double elsewhere = fleet.streams() * utilization();
        double supply = base + launched * exchangesPerWorker - withheld;
        double queued = backlog.streams(nowNanos, demand, load, elsewhere, supply, startNanos, base > 0);
        double instant = demand.busy() + queued;
        // What is in flight varies by chance, which is ignored while the base suffices.
        double now = base > 0 && queued == 0 ? load.inFlight() : instant;
        neededStreams = hasBeenIdle(nowNanos, demand)
                ? 0
                : Math.max(LEAST_STREAMS, Math.max(load.streams() / utilization(), now));
        double others = Math.max(elsewhere, demand.taken());
        // If nobody waits for long, what is there suffices for this moment.
        double all = queued == 0 ? Math.max(instant, Math.min(instant + others, supply)) : instant + others;
        double excessive = base == 0
                ? neededStreams + fleet.streams()
                : excess.calculate(load.lastingStreams() + elsewhere, all, base, base * utilization());
        // Other base workers serve tunnels, too. Those that wait have found no room there.
        tunnels = Math.max(0, demand.tunnels().open() + workers.inProcess() - base)
                + demand.tunnels().waiting();
        launchedStreams =
                tunnels == 0 ? excessive : Math.max(excessive + demand.tunnels().waiting(), tunnels + fleet.streams());
        double missing = launchedStreams == 0 ? 0 : withheld;
        needed = (int) Math.min(Integer.MAX_VALUE, Math.ceil((launchedStreams + missing) / exchangesPerWorker));
        boolean spares = neededStreams + fleet.streams() > 0 || policy.minWorkers() > 0;
        int spare = spares ? policy.minSpareWorkers() : 0;
        int otherwise = (int) Math.min(policy.maxWorkers(), Math.max(policy.minWorkers(), (long) needed + spare));
        int within = Math.max(otherwise, Math.min(policy.maxWorkers(), scheduled.evaluate(startNanos)));
        affordable = fleet.prepaid() ? Integer.MAX_VALUE : spend.affordableWorkers(60);
        wanted = Math.min(within, affordable);
        // Without any affordable worker, requests cannot overflow either.
        limited = affordable < Math.min(policy.maxWorkers(), Math.max(1, within));
        long holdNanos = base == 0 ? policy.scaleDownDelay().toNanos() : holdNanos(startNanos);
        recentlyWanted.setWindow(holdNanos);
        recentlyOtherwise.setWindow(holdNanos);
        kept = Math.min(recentlyWanted.add(nowNanos, wanted), Math.min(affordable, policy.maxWorkers()));
        int keptOtherwise = recentlyOtherwise.add(nowNanos, otherwise);
        int readyOtherwise = scheduled.readyOtherwise(nowNanos, keptOtherwise, startNanos);
        double ahead = (Math.min(launched, kept) - keptOtherwise) * shareOf(workers, nowNanos, launched);
        scheduled.count(nowNanos, demand, ahead, base + readyOtherwise * exchangesPerWorker - others);
    }

    /** Returns the share of the launched workers of the fleet that this dispatcher pays for. */
    private static double shareOf(WorkerLives workers, long nowNanos, int launched) {
        int own = workers.count(worker -> worker.ours && worker.isCapacity(nowNanos));
        return (double) own / Math.max(1, launched);
    }

    /**
     * Returns how long a launched worker is kept beside a base when it is not needed: as long as it
     * costs no more than the start that it saves. Half of the scale-in time is left for draining.
     */
    private long holdNanos(long startNanos) {
        return Math.min(policy.scaleDownDelay().toNanos() / 2, START_PRICE * (startNanos + COLD_CODE_NANOS));
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

    private boolean hasBeenIdle(long nowNanos, Demand demand) {
        return !everRequested
                || nowNanos - lastRequestNanos >= policy.idleTimeout().toNanos() && isIdle(demand);
    }

    /** Returns the share of its streams that a worker should use. */
    double utilization() {
        return policy.targetUtilization();
    }

    /** Returns how many worker streams the clients of this dispatcher need. */
    double neededStreams() {
        return neededStreams;
    }

    /** Returns how many of them no base worker serves, because they are tunnels. */
    int tunnels() {
        return tunnels;
    }

    /** Returns how many worker streams are needed beside the base, or without it. */
    double launchedStreams() {
        return launchedStreams;
    }

    /** Counts the time since the previous call for the workers that ran in it. */
    void meter(long nowNanos, WorkerLives workers) {
        spend.advance(nowNanos, workers.count(worker -> worker.ours));
    }

    /** Returns how many launched workers the traffic needs, without spare ones and limits. */
    int needed() {
        return needed;
    }

    /** Returns how many workers the spending limit allows. */
    int affordable() {
        return affordable;
    }

    /** Returns how many launched workers there should be now. */
    int wanted() {
        return wanted;
    }

    /** Returns how many workers scale-in keeps: the most that were wanted recently. */
    int kept() {
        return kept;
    }

    ScheduledWorkers scheduled() {
        return scheduled;
    }

    SpendMeter spend() {
        return spend;
    }

    /**
     * Returns for how long the spending limit allows no worker, or {@code null} if it allows one.
     */
    @Nullable
    LaunchPause pause(long nowNanos, FleetView fleet) {
        if (affordable > 0 && fleet.affordable()) {
            return null;
        }
        // Nobody knows when the others of a fleet spend less.
        long nanos = affordable > 0 ? SpendMeter.MINUTE_NANOS : spend.nanosUntilAffordable(nowNanos);
        return new LaunchPause("launches are blocked by the spending limit", nowNanos + nanos, false);
    }

    /**
     * Returns why fewer workers are wanted than the traffic needs, in one line, or {@code null} if
     * the spending limit allows enough.
     */
    @Nullable
    String obstacle() {
        return limited
                ? "launching is limited by the spending limit: " + Math.round(spend.ceilingGbSeconds())
                        + " GB-seconds per hour"
                : null;
    }
}
