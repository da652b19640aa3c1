package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.internal.capacity.FleetReport.SlotUse;
import io.lambdadispatcher.core.internal.capacity.Plan.Launch;
import io.lambdadispatcher.core.internal.capacity.WorkerLife.State;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.LaunchHistory;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Decides for one function which workers are launched, limited, drained and killed. It does nothing
 * by itself: it is told of events, and returns a {@link Plan}. {@link WorkerTarget} calculates how
 * many workers there should be, {@link MissingWorkers} and {@link LaunchGuard} how many of them may
 * be launched now, {@link Recycling} and {@link Retirement} which ones to replace and to drain.
 *
 * <p><i>Threading:</i> confined to one thread. Times are like {@link System#nanoTime()}: only
 * differences have a meaning.
 */
public final class CapacityController {
    /** The longest time that a worker may take to drain. */
    static final long MAX_GRACE_NANOS = TimeUnit.MINUTES.toNanos(15);

    /** The longest life of a worker on Lambda: the maximum timeout of a function. */
    private static final Duration LONGEST_LIFE = Duration.ofMinutes(15);

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    /** A little less than a second, because samples can arrive a little early. */
    private static final long NEARLY_A_SECOND = SECOND * 9 / 10;
    /** The time after which a ready worker counts as successfully launched. */
    private static final long SETTLED_NANOS = 10 * SECOND;

    private static final int MOST_EJECTIONS = 3;
    /** Decisions take a second, and a worker that is ended some more. */
    private static final int LAST_SECONDS = 10;
    /**
     * The time in which workers of a previous dispatcher may dial in, so that requests wait for
     * them.
     */
    private static final long RETURN_NANOS = 5 * SECOND;

    private final WorkerLives workers;
    private final LaunchGuard guard;
    private final WorkerTarget target;
    private final Rollout rollout;
    private final DownstreamShares downstream;
    private final Recycling recycling;
    private final Retirement retirement = new Retirement();
    private final BaseAdvice advice = new BaseAdvice();

    private FunctionOptions function;
    /** The fleet at the latest evaluation. */
    private FleetView fleet = FleetView.ALONE;

    private boolean started;
    private long startedNanos;
    /** When the workers were last looked at. */
    private long secondNanos;

    /** Whether workers are missing, but twice the maximum run. */
    private boolean full;

    private boolean closed;

    public CapacityController(FunctionOptions function, RandomGenerator random) {
        this(function, random, InstantSource.system());
    }

    /** @param clock tells the time of the schedule */
    CapacityController(FunctionOptions function, RandomGenerator random, InstantSource clock) {
        this.function = function;
        this.workers = new WorkerLives(function.streamsPerWorker());
        this.guard = new LaunchGuard(function.launching(), random);
        this.target = new WorkerTarget(function, clock);
        this.rollout = new Rollout(function.launching());
        this.downstream = new DownstreamShares(function);
        this.recycling = new Recycling(workers, rollout, downstream);
    }

    /**
     * Replaces the policy and the limits, from the next {@link #evaluate} on. The number of streams
     * per worker must be the same as before.
     */
    public void setOptions(FunctionOptions value) {
        function = value;
        guard.setLimits(value.launching());
        rollout.setLimits(value.launching());
        target.setOptions(value);
        downstream.setOptions(value);
    }

    /** Stops launching for good. */
    public void close() {
        closed = true;
    }

    /**
     * Sets the kill switch: {@code false} = no launch until it is set to {@code true}. Running
     * workers continue.
     */
    public void setLaunching(boolean value) {
        guard.setStopped(!value);
    }

    /**
     * Continues with the history of a dispatcher that ended {@code agoNanos} ago. All its launches
     * count as launched at that time.
     */
    public void restore(long nowNanos, LaunchHistory history, long agoNanos) {
        setLaunching(history.launching());
        guard.restore(history.launchesInLastMinute(), nowNanos - agoNanos);
        rollout.adopt(history.rollout());
        target.spend().restore(history.gbSecondsByMinute(), TimeUnit.NANOSECONDS.toMinutes(agoNanos));
    }

    /** Returns the longest life of a worker. A local process may live longer. */
    public static Duration longestLife(FunctionOptions function) {
        Duration age = function.capacity().maxWorkerAge();
        return age.isZero() || age.compareTo(LONGEST_LIFE) > 0 ? LONGEST_LIFE : age;
    }

    /**
     * Returns the time that a worker may take to drain. It can say goodbye before its deadline.
     *
     * @param leftNanos the time until its deadline; {@link Long#MAX_VALUE} = no deadline
     */
    public static long graceNanos(long leftNanos) {
        return Math.max(0, Math.min(MAX_GRACE_NANOS, leftNanos - SECOND / 2));
    }

    // Events.

    /** Returns the workers, to be told of the events that concern one of them alone. */
    public WorkerLives workers() {
        return workers;
    }

    /** Returns the change to another version, to be told what concerns it alone. */
    public Rollout rollout() {
        return rollout;
    }

    /** Records that a worker of a {@link Plan} is being launched. */
    public void onLaunched(long nowNanos, String workerId, Launch launch) {
        workers.onLaunched(nowNanos, workerId, launch);
        guard.onLaunched(nowNanos);
    }

    /**
     * Records that a worker takes requests.
     *
     * @param streams how many it may open on its ready connections
     * @param deadlineNanos when the worker must have exited; {@link Long#MAX_VALUE} = no deadline
     * @param version the version of its code, as it says; empty if it does not
     */
    public Plan onReady(long nowNanos, String workerId, int streams, long deadlineNanos, String version) {
        PlanDraft draft = new PlanDraft(nowNanos);
        WorkerLife worker = workers.get(workerId);
        if (worker == null) {
            return Plan.NOTHING; // It has exited.
        }
        worker.onStreams(streams);
        if (!version.isEmpty()) {
            worker.version = version;
        }
        if (worker.is(State.DRAINING)) {
            worker.onBack();
            // The worker lost its connections before the drain message reached it.
            draft.tellToDrain(worker, DrainCode.REQUESTED);
            return draft.plan();
        }
        boolean first = !worker.everReady();
        if (worker.onReady(nowNanos, earlier(deadlineNanos, worker)) && worker.ours && first) {
            retirement.onStarted(worker.startNanos());
            guard.onReady(worker.launchedNanos);
            rollout.onReady(worker);
        }
        if (worker.limit.isReduced()) {
            // The limit was set on the worker's other or previous connections only.
            draft.limit(worker, PlanDraft.OTHER_STREAMS);
        } else {
            draft.limitIfChanged(worker, false);
        }
        return draft.plan();
    }

    private long earlier(long deadlineNanos, WorkerLife worker) {
        // A base worker has no deadline, because nobody here may replace it.
        if (function.capacity().maxWorkerAge().isZero() || worker.isBase()) {
            return deadlineNanos;
        }
        long own = worker.launchedNanos + function.capacity().maxWorkerAge().toNanos();
        return deadlineNanos == WorkerLife.NEVER || own - deadlineNanos < 0 ? own : deadlineNanos;
    }

    /**
     * Records that a worker's last connection has closed.
     *
     * @param clean whether it said goodbye
     */
    public void onDisconnected(long nowNanos, String workerId, boolean clean) {
        WorkerLife worker = workers.get(workerId);
        if (worker == null) {
            return;
        }
        if (!worker.ours || worker.hasExited()) {
            worker.setLost(worker.isLost() && !clean);
            onGone(nowNanos, worker);
        } else if (clean || worker.is(State.DRAINING)) {
            worker.onParted(nowNanos);
        } else {
            worker.onDisconnected(nowNanos);
        }
    }

    /** Records that a launched worker has exited, or could not be launched. */
    public void onExit(long nowNanos, String workerId, WorkerExit exit) {
        WorkerLife worker = workers.get(workerId);
        if (worker == null) {
            return;
        }
        State before = worker.state();
        worker.setLost(exit.cause() == Cause.LOST);
        if (before == State.DIALLED || before == State.READY) {
            // The connections of an exited process close soon. If they do not, the process still
            // runs, and only the invocation that started it has ended.
            worker.onExit();
        } else {
            onGone(nowNanos, worker);
        }
        if (closed) {
            return;
        }
        boolean ofNewVersion = before != State.DRAINING && exit.failed() && rollout.onFailed(worker, exit);
        if (ofNewVersion && !guard.isProbing()) {
            return;
        }
        if (!worker.everReady()) {
            Cause cause = exit.cause() == Cause.ENDED ? Cause.FAILED : exit.cause();
            guard.onFailed(nowNanos, worker.launchedNanos, cause, exit.detail());
        } else if (before != State.DRAINING && exit.failed() && !worker.isSettled()) {
            guard.onFailed(nowNanos, worker.launchedNanos, exit.cause(), exit.detail());
        }
    }

    private void onGone(long nowNanos, WorkerLife worker) {
        target.meter(nowNanos, workers);
        workers.onGone(nowNanos, worker);
        if (worker.isLost()) {
            downstream.onLost(worker);
        }
    }

    /**
     * Records what a worker has reported of its load.
     *
     * @param memoryPermille the part of its heap that is in use
     * @param loopLagMicros how late its event loops are
     */
    public Plan onLoad(long nowNanos, String workerId, int memoryPermille, int loopLagMicros) {
        WorkerLife worker = workers.get(workerId);
        // The event loops of a JVM that has just started are late even without load.
        if (worker == null || !worker.is(State.READY) || worker.inStateNanos(nowNanos) < SETTLED_NANOS) {
            return Plan.NOTHING;
        }
        PlanDraft draft = new PlanDraft(nowNanos);
        worker.limit.onReport(nowNanos, memoryPermille, loopLagMicros);
        draft.limitIfChanged(worker, false);
        return draft.plan();
    }

    /**
     * Adds the total time of the direct invocations of overflowing requests since the previous
     * call.
     */
    public void onOverflow(long nanos) {
        target.spend().addInvocations(nanos);
    }

    /** Records that a worker must not serve, because the fleet has given it up. */
    public Plan onGivenUp(long nowNanos, String workerId) {
        WorkerLife worker = workers.get(workerId);
        return worker == null ? Plan.NOTHING : drained(nowNanos, worker, "the fleet has given it up");
    }

    // What an operator asks for.

    /**
     * Drains a worker now. If the traffic needs a replacement, it is launched afterwards.
     *
     * @return nothing if the worker is not connected, or drained before
     */
    public Plan drainNow(long nowNanos, String workerId) {
        WorkerLife worker = workers.get(workerId);
        return worker != null && (worker.is(State.DIALLED) || worker.is(State.READY))
                ? drained(nowNanos, worker, "drained by an operator")
                : Plan.NOTHING;
    }

    private static Plan drained(long nowNanos, WorkerLife worker, String why) {
        PlanDraft draft = new PlanDraft(nowNanos);
        draft.drain(worker, DrainCode.REQUESTED, why);
        return draft.plan();
    }

    /**
     * Replaces a worker soon: it drains when its replacement is ready. At most a quarter of the
     * workers is replaced at a time.
     *
     * @return whether this dispatcher owns the worker and it did not drain before
     */
    public boolean recycle(String workerId) {
        return recycling.add(workerId);
    }

    /**
     * Returns the connected workers that are replaced soon: because their deadline is near, or they
     * do not fit the version or the options, or an operator wants it.
     */
    public Set<String> due() {
        Set<String> due = new HashSet<>();
        for (WorkerLife worker : workers.ready()) {
            if (worker.isExpiring() || recycling.isWaiting(worker)) {
                due.add(worker.id);
            }
        }
        rollout.outdated(workers).forEach(worker -> due.add(worker.id));
        return due;
    }

    // Decisions.

    /**
     * Compares the workers with the demand. Must be called every second with a demand that lists
     * workers, and soon after requests were queued.
     */
    public Plan evaluate(long nowNanos, Demand demand, FleetView view) {
        PlanDraft draft = new PlanDraft(nowNanos);
        fleet = view;
        retirement.onServiceTimes(demand.serviceTimes());
        if (view.rollout() != null) {
            rollout.take(view.rollout());
        }
        boolean due = !started || nowNanos - secondNanos >= NEARLY_A_SECOND;
        List<WorkerDemand> seen = due ? demand.workers() : null;
        if (seen != null) {
            startedNanos = started ? startedNanos : nowNanos;
            started = true;
            secondNanos = nowNanos;
            everySecond(draft, seen);
            advice.onSecond(nowNanos, demand.busy() + demand.pending() + view.streams() * target.utilization());
            downstream.tell(draft, workers, !view.prepaid());
        }
        recycling.markNext(nowNanos, function.capacity().maxWorkerAge());
        retirement.markExpiring(nowNanos, workers.ready());
        target.onSample(nowNanos, demand, view, workers, retirement.meanStartNanos());
        if (closed) {
            return draft.plan();
        }
        int ungranted = launchMissing(draft, demand.pending());
        recycling.drainEarly(draft);
        retirement
                .replaced(nowNanos, workers.readyLaunched(), target.wanted())
                .forEach(worker -> draft.drain(
                        worker, recycling.has(worker) ? DrainCode.REQUESTED : DrainCode.DEADLINE, worker.expiresFor()));
        if (seen != null && view.mayScaleIn()) {
            scaleIn(draft);
            endUnaffordable(draft);
        }
        return draft.plan(ungranted, rollout.isSurprised());
    }

    private void everySecond(PlanDraft draft, List<WorkerDemand> seen) {
        long now = draft.nowNanos;
        retirement.onSecond();
        for (WorkerDemand one : seen) {
            WorkerLife worker = workers.get(one.workerId());
            if (worker != null) {
                boolean changed = worker.onStreams(one.streams());
                WorkerDemand second = worker.onSecond(now, one);
                if (second != null && !worker.isBase()) {
                    rollout.onExchanges(now, worker, second);
                }
                draft.limitIfChanged(worker, changed);
            }
        }
        for (WorkerLife worker : workers.all()) {
            if (worker.settles(now, SETTLED_NANOS) && worker.ours) {
                guard.onSettled();
                rollout.onSettled(worker);
            }
            String overdue = worker.overdue(now, function.launching().launchTimeout());
            if (overdue != null && worker.ours) {
                draft.kill(worker, overdue);
            }
            if (worker.ours && worker.isEjected() && worker.ejections() >= MOST_EJECTIONS) {
                draft.drain(worker, DrainCode.REQUESTED, "ejected " + MOST_EJECTIONS + " times");
            }
        }
        rollout.onSecond(now, workers, now - startedNanos >= RETURN_NANOS);
    }

    /** Returns how many more workers would be launched if the fleet permitted them. */
    private int launchMissing(PlanDraft draft, int pending) {
        long now = draft.nowNanos;
        int most = function.capacity().maxWorkers();
        // Otherwise, ejected workers would drain, and nothing would replace them.
        int wanted = guard.permitted(now, 1, 0) > 0 ? target.wanted() : 0;
        MissingWorkers missing = MissingWorkers.count(draft, wanted, fleet.workers(), most, workers, rollout);
        full = missing.ordinary() > Math.max(0, missing.all());
        int starting = workers.count(WorkerLife::isStarting);
        int permitted = guard.permitted(now, downstream.permitted(now, missing.all(), workers), starting);
        int count = Math.min(permitted, fleet.launchable());
        int there = fleet.workers() + workers.launchedCapacity(now);
        for (int i = 0; i < count; i++) {
            boolean watched = i >= missing.ordinary();
            String version = rollout.launchVersion(watched);
            String reason = watched
                    ? "tries version " + version
                    : WorkerReasons.ofLaunch(workers, function.capacity(), there + i, target, pending);
            draft.launch(version, downstream.ofNewWorker(), reason);
        }
        return permitted - count;
    }

    private void scaleIn(PlanDraft draft) {
        int draining = workers.count(worker -> worker.is(State.DRAINING) && !worker.isBase());
        Retirement.drained(candidates(), kept(), draining, workers.base(WorkerLife::concurrency) > 0)
                .forEach(worker -> draft.drain(worker, DrainCode.SCALE_IN, WorkerReasons.ofDrain(DrainCode.SCALE_IN)));
    }

    /**
     * Drains the workers for which the spending limit leaves less than a minute each. If it leaves
     * only {@link #LAST_SECONDS}, they are ended with their requests.
     */
    private void endUnaffordable(PlanDraft draft) {
        int running = workers.count(worker -> worker.ours && !worker.hasExited());
        int surplus = running - target.affordable();
        int unpaid = fleet.prepaid() ? 0 : running - target.spend().affordableWorkers(LAST_SECONDS);
        for (WorkerLife worker : workers.all()) {
            if (worker.ours && !worker.is(State.READY) && !worker.hasExited()) {
                surplus -= worker.is(State.DRAINING) ? 1 : 0;
                // One that still starts would count as a launch that has failed.
                if (worker.everReady() && unpaid-- > 0 && worker.kill()) {
                    draft.kill(worker, "exceeds the spending limit");
                }
            }
        }
        List<WorkerLife> ready = workers.readyLaunched();
        for (WorkerLife worker : Retirement.surplus(ready, ready.size() - Math.max(0, surplus))) {
            draft.drain(worker, DrainCode.SCALE_IN, "the spending limit is reached");
        }
    }

    /** Returns how many of the {@link #candidates} scale-in keeps. */
    private int kept() {
        int watched = rollout.unseenWatched(target.wanted(), workers);
        return Math.max(0, target.kept() - Math.max(0, fleet.workers() - watched));
    }

    /** Returns the workers that scale-in may drain if there are too many. */
    private List<WorkerLife> candidates() {
        List<WorkerLife> ready = workers.readyLaunched();
        // Without traffic, nothing can be watched.
        ready.removeIf(worker -> target.kept() > 0 && rollout.isWatched(worker));
        return ready;
    }

    // What is known.

    /**
     * Returns the connected workers of this dispatcher that are not needed, and drain in the next
     * seconds. In a fleet, each dispatcher has its turn to drain some.
     */
    public Set<String> surplus() {
        return Retirement.surplus(candidates(), kept()).stream()
                .map(worker -> worker.id)
                .collect(Collectors.toSet());
    }

    /**
     * Returns what the fleet must know after an evaluation.
     *
     * @param plan what the latest evaluation has returned, and what has been carried out
     */
    public FleetReport report(long nowNanos, Plan plan) {
        List<SlotUse> uses = new ArrayList<>();
        for (WorkerLife worker : workers.all()) {
            if (worker.ours) {
                uses.add(new SlotUse(
                        worker.id, worker.everReady(), worker.isCapacity(nowNanos), worker.downstream.held()));
            }
        }
        // What this process serves itself is no need that others could serve.
        double needed = Math.max(target.tunnels(), target.neededStreams() - workers.inProcess());
        return new FleetReport(workers.ids(), needed, plan.ungranted(), uses, rollout.proposal());
    }

    /** Returns for how long launches are delayed because one was throttled. 0 = they are not. */
    public long throttledNanos(long nowNanos) {
        return guard.throttledNanos(nowNanos);
    }

    /**
     * Returns whether requests may overflow to direct invocations. The kill switch and the
     * spending limit apply to them, but not the pause after a failed launch.
     */
    public boolean permitsOverflow() {
        return !guard.isStopped() && target.spend().isWithinCeiling() && fleet.affordable() && !fleet.isUnread();
    }

    /**
     * Returns why no request is served soon: no worker is connected or starting, in the whole
     * fleet, and launches are blocked. Returns {@code null} if a request may be served soon.
     */
    public @Nullable LaunchPause pause(long nowNanos) {
        boolean mayComeBack = !started || nowNanos - startedNanos < RETURN_NANOS;
        boolean served = fleet.workers() > 0
                || workers.count(worker -> worker.is(State.READY) || worker.isCapacity(nowNanos)) > 0;
        if (closed || mayComeBack || served) {
            return null;
        }
        LaunchPause own = guard.pause(nowNanos);
        return own == null ? target.pause(nowNanos, fleet) : own;
    }

    public LaunchHistory history(long nowNanos) {
        return new LaunchHistory(
                function.name(),
                !guard.isStopped(),
                guard.launchesInLastMinute(nowNanos),
                target.spend().byMinute(),
                rollout.text());
    }

    private CapacitySnapshot.@Nullable Base base() {
        int ready = workers.base(worker -> worker.is(State.READY) ? 1 : 0);
        return ready == 0
                ? null
                : new CapacitySnapshot.Base(
                        ready,
                        workers.base(WorkerLife::concurrency),
                        workers.base(WorkerLife::busy),
                        target.launchedStreams(),
                        rollout.baseVersion(),
                        rollout.baseDifference());
    }

    private CapacitySnapshot.@Nullable AdvisedBase advisedBase() {
        double gigabytes = function.launching().workerMegabytes() / 1024.0 / function.streamsPerWorker();
        return advice.advise(workers.base(WorkerLife::concurrency), target.utilization(), gigabytes);
    }

    /**
     * Returns the state after the latest {@link #evaluate}.
     *
     * @param fleetObstacle why the fleet permits fewer launches than are wanted, in one line;
     *     {@code null} = it permits them
     */
    public CapacitySnapshot status(long nowNanos, @Nullable String fleetObstacle) {
        String own = guard.obstacle(nowNanos);
        String connections = downstream.obstacle(workers);
        String outer = connections == null ? fleetObstacle : connections;
        String obstacle = own == null ? outer : own;
        if (guard.isStopped() && fleetObstacle != null) {
            // Perhaps the others of the fleet do not know.
            obstacle = own + "; " + fleetObstacle;
        }
        String most = "launching is limited by function.max-workers: "
                + 2 * function.capacity().maxWorkers() + " workers run, start or drain";
        String last = full ? most : target.obstacle();
        return new CapacitySnapshot(
                function.name(),
                target.wanted(),
                workers.count(worker -> (worker.is(State.LAUNCHED) || worker.is(State.DIALLED)) && !worker.isBase()),
                workers.count(worker -> worker.is(State.READY) && !worker.isEjected()),
                workers.count(worker -> worker.is(State.DRAINING) && !worker.isBase()),
                guard.launchesInLastMinute(nowNanos),
                target.spend().lastHourGbSeconds(),
                target.spend().totalGbSeconds(),
                base(),
                advisedBase(),
                target.scheduled().snapshot(),
                rollout.snapshot(workers),
                obstacle == null ? last : obstacle);
    }
}
