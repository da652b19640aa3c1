package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.internal.capacity.FleetReport.SlotUse;
import io.lambdadispatcher.core.internal.capacity.WorkerLife.State;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.LaunchHistory;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Decides for one function which workers are launched, limited, ejected, drained and killed. {@link
 * WorkerTarget} calculates how many there should be, {@link LaunchGuard} how many may be launched
 * now, and {@link Retirement} which ones to drain. The controller acts through {@link Actions},
 * which must not call the controller.
 *
 * <p><i>Threading:</i> confined to one thread. Times are like {@link System#nanoTime()}: only
 * differences have a meaning.
 */
public final class CapacityController {

    /** The actions that the controller can take on workers. */
    public interface Actions {
        /**
         * Starts a worker. Its exit must be reported later, even if the launch fails.
         *
         * @param version the version that it must have; empty = the launcher chooses
         * @param downstreamShare how many downstream connections it may open; 0 = not limited
         * @return its id
         */
        String launch(String version, int downstreamShare);

        /**
         * Makes a worker exit when it has answered its requests in flight, but after {@code
         * graceNanos} at the latest. It gets no more requests.
         */
        void drain(String workerId, DrainCode reason, long graceNanos);

        /** Terminates a worker by force. */
        void kill(String workerId, String reason);

        /**
         * Sets the maximum number of a worker's concurrent exchanges.
         *
         * @param reason for the log, in one line
         */
        void limit(String workerId, int exchanges, String reason);

        /** Tells a worker how many downstream connections it may have from now on. */
        void share(String workerId, int connections);
    }

    /** The longest time that a worker may take to drain. */
    public static final long MAX_GRACE_NANOS = TimeUnit.MINUTES.toNanos(15);

    /** The longest life of a worker on Lambda: the maximum timeout of a function. */
    private static final long LONGEST_LIFE_NANOS = TimeUnit.MINUTES.toNanos(15);

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    /** A little less than a second, because samples can arrive a little early. */
    private static final long NEARLY_A_SECOND = SECOND * 9 / 10;
    /** The time after which a ready worker counts as successfully launched. */
    private static final long SETTLED_NANOS = 10 * SECOND;

    private static final int MOST_EJECTIONS = 3;
    /** For this time, a replacement waits until an ejected worker has ended. */
    private static final long LEAVING_NANOS = 5 * SECOND;
    /**
     * The time that a connected worker has to become ready, as a multiple of the launch timeout. A
     * handler may start slowly, but a worker that hangs must not count as capacity forever.
     */
    private static final int TIMES_LONGER_TO_BE_READY = 4;
    /**
     * The time in which workers of a previous dispatcher may dial in, so that requests wait for
     * them.
     */
    private static final long RETURN_NANOS = 5 * SECOND;

    private CapacityPolicy policy;
    private FunctionOptions function;
    private final Actions actions;
    private final LaunchGuard guard;
    private final WorkerTarget target;
    private final Retirement retirement = new Retirement();
    private final Recycling recycling = new Recycling();
    private final Rollout rollout;
    private final WorkerLives workers;
    private final DownstreamShares shares;

    private boolean started;
    private long startedNanos;
    private long secondNanos;
    private FleetView fleet = FleetView.ALONE;
    /** Workers that would be launched if the fleet permitted them. */
    private int ungranted;

    /** Whether there are no downstream connections for a worker that is missing. */
    private boolean lacksConnections;

    private boolean closed;

    public CapacityController(FunctionOptions function, Actions actions, RandomGenerator random) {
        this.function = function;
        this.policy = function.capacity();
        this.actions = actions;
        this.guard = new LaunchGuard(function.launching(), random);
        this.target = new WorkerTarget(function);
        this.rollout = new Rollout(function.launching());
        this.workers = new WorkerLives(function.streamsPerWorker());
        this.shares = new DownstreamShares(policy.downstream());
    }

    /**
     * Replaces the policy and the limits, from the next {@link #evaluate} on. The number of streams
     * per worker must be the same as before.
     */
    public void setOptions(FunctionOptions value) {
        function = value;
        policy = value.capacity();
        guard.setLimits(value.launching());
        rollout.setLimits(value.launching());
        target.setOptions(value);
        shares.setBudget(policy.downstream());
    }

    // Events.

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

    public LaunchHistory history(long nowNanos) {
        return new LaunchHistory(
                function.name(),
                !guard.isStopped(),
                guard.launchesInLastMinute(nowNanos),
                target.spend().byMinute(),
                rollout.text());
    }

    public void onDialled(long nowNanos, String workerId) {
        workers.onDialled(nowNanos, workerId);
    }

    /**
     * Records that a worker takes requests.
     *
     * @param deadlineNanos when the worker must have exited; {@link Long#MAX_VALUE} = no deadline
     * @param version the version of its code, as it says; empty if it does not
     */
    public void onReady(long nowNanos, String workerId, long deadlineNanos, String version) {
        WorkerLife worker = workers.onDialled(nowNanos, workerId);
        if (!version.isEmpty()) {
            worker.version = version;
        }
        if (worker.is(State.DRAINING)) {
            worker.onBack();
            // The worker lost its connections before the drain message reached it.
            tellToDrain(nowNanos, worker, DrainCode.REQUESTED);
            return;
        }
        boolean first = !worker.everReady();
        if (worker.onReady(nowNanos, earlier(deadlineNanos, worker)) && worker.ours && first) {
            retirement.onStarted(worker.startNanos());
            guard.onReady(worker.launchedNanos);
            rollout.onReady(worker);
        }
        if (worker.allowed() < function.streamsPerWorker()) {
            // The limit was set on the worker's other or previous connections only.
            actions.limit(worker.id, worker.allowed(), "also on its new connection");
        }
    }

    /** Records that a connected worker takes no requests for now. */
    public void onUnready(long nowNanos, String workerId) {
        WorkerLife worker = workers.get(workerId);
        if (worker != null) {
            worker.onUnready(nowNanos);
        }
    }

    private long earlier(long deadlineNanos, WorkerLife worker) {
        if (policy.maxWorkerAge().isZero()) {
            return deadlineNanos;
        }
        long own = worker.launchedNanos + policy.maxWorkerAge().toNanos();
        return deadlineNanos == WorkerLife.NEVER || own - deadlineNanos < 0 ? own : deadlineNanos;
    }

    /** Records that a worker drains, by itself or because something else drained it. */
    public void onDraining(long nowNanos, String workerId) {
        WorkerLife worker = workers.get(workerId);
        if (worker != null) {
            worker.onDraining(nowNanos);
        }
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
        workers.onGone(nowNanos, worker);
        if (worker.isLost()) {
            shares.onLost(worker, worker.hasDeadline() ? worker.deadlineNanos() : latestEndNanos(worker));
        }
    }

    /** Returns when a worker that has not said its deadline has certainly ended. */
    private long latestEndNanos(WorkerLife worker) {
        long age = policy.maxWorkerAge().toNanos();
        long life = age == 0 ? LONGEST_LIFE_NANOS : Math.min(age, LONGEST_LIFE_NANOS);
        return worker.launchedNanos + function.launching().launchTimeout().toNanos() + life;
    }

    /**
     * Records that a worker has reported how many downstream connections it keeps to.
     *
     * @param connections 1 or more
     */
    public void onShare(String workerId, int connections) {
        WorkerLife worker = workers.get(workerId);
        if (worker != null) {
            worker.share.onReport(connections);
        }
    }

    public void onLoad(long nowNanos, String workerId, int memoryPermille, int loopLagMicros) {
        WorkerLife worker = workers.get(workerId);
        // The event loops of a JVM that has just started are late even without load.
        if (worker != null && worker.is(State.READY) && worker.inStateNanos(nowNanos) >= SETTLED_NANOS) {
            int before = worker.allowed();
            worker.limit.onReport(nowNanos, memoryPermille, loopLagMicros);
            tellLimit(worker, before);
        }
    }

    /**
     * Adds the total time of the direct invocations of overflowing requests since the previous
     * call.
     */
    public void onOverflow(long nanos) {
        target.spend().addInvocations(nanos);
    }

    // What an operator asks for.

    /**
     * Drains a worker now. If the traffic needs a replacement, it is launched afterwards.
     *
     * @return whether the worker was connected and did not drain before
     */
    public boolean drainNow(long nowNanos, String workerId) {
        WorkerLife worker = workers.get(workerId);
        if (worker == null || !worker.is(State.DIALLED) && !worker.is(State.READY)) {
            return false;
        }
        drain(nowNanos, worker, DrainCode.REQUESTED);
        return true;
    }

    /**
     * Replaces a worker soon: it drains when its replacement is ready. At most a quarter of the
     * workers is replaced at a time.
     *
     * @return whether this dispatcher owns the worker and it did not drain before
     */
    public boolean recycle(String workerId) {
        return recycling.add(workers.get(workerId));
    }

    /** Stops a change to another version that has begun. The old version keeps serving. */
    public void stopRollout() {
        rollout.stop();
    }

    /** Continues a stopped change to another version. */
    public void resumeRollout() {
        rollout.resume();
    }

    // Versions.

    /** Records which version the launcher names; empty = it knows no versions. */
    public void onVersion(String version) {
        rollout.onNamed(version);
    }

    public Rollout rollout() {
        return rollout;
    }

    // The fleet.

    /** Records that another dispatcher's worker is now this one's. */
    public void onAdopted(String workerId) {
        WorkerLife worker = workers.get(workerId);
        if (worker != null) {
            worker.ours = true;
        }
    }

    /** Records that a worker of this dispatcher is now another one's. */
    public void onDisowned(long nowNanos, String workerId) {
        WorkerLife worker = workers.get(workerId);
        if (worker != null) {
            worker.ours = false;
            if (worker.is(State.LAUNCHED) || worker.hasParted()) {
                workers.onGone(nowNanos, worker);
            }
        }
    }

    /** Records that a worker must be replaced and drained soon. */
    public void onExpiring(String workerId) {
        WorkerLife worker = workers.get(workerId);
        if (worker != null) {
            worker.expire();
        }
    }

    /** Records that a worker must not serve, because the fleet has given it up. */
    public void onGivenUp(long nowNanos, String workerId) {
        WorkerLife worker = workers.get(workerId);
        if (worker != null) {
            drain(nowNanos, worker, DrainCode.REQUESTED);
        }
    }

    /** Returns the ids of all workers. */
    public Set<String> workerIds() {
        return workers.ids();
    }

    /** Returns what the fleet must know after the latest {@link #evaluate}. */
    public FleetReport report(long nowNanos) {
        List<SlotUse> uses = new ArrayList<>();
        for (WorkerLife worker : workers.all()) {
            if (worker.ours) {
                uses.add(new SlotUse(worker.id, worker.everReady(), worker.isCapacity(nowNanos), worker.share.held()));
            }
        }
        return new FleetReport(workers.ids(), target.neededStreams(), ungranted, uses, rollout.proposal());
    }

    /** Returns for how long launches are delayed because one was throttled. 0 = they are not. */
    public long throttledNanos(long nowNanos) {
        return guard.throttledNanos(nowNanos);
    }

    // Decisions.

    /**
     * Compares the workers with the demand and acts. Must be called every second with a demand that
     * lists workers, and soon after requests were queued.
     *
     * @param view what is known of the fleet
     */
    public void evaluate(long nowNanos, Demand demand, FleetView view) {
        retirement.onServiceTimes(demand.serviceTimes());
        fleet = view;
        ungranted = 0;
        if (view.rollout() != null) {
            rollout.take(view.rollout());
        }
        boolean due = !started || nowNanos - secondNanos >= NEARLY_A_SECOND;
        List<WorkerDemand> seen = due ? demand.workers() : null;
        if (seen != null) {
            startedNanos = started ? startedNanos : nowNanos;
            started = true;
            secondNanos = nowNanos;
            everySecond(nowNanos, seen);
            shares.tell(nowNanos, workers, !view.prepaid(), actions::share);
        }
        recycling.markNext(workers, outdated(nowNanos));
        retirement.markExpiring(nowNanos, workers.ready());
        target.onSample(nowNanos, demand, view, workers, retirement.meanStartNanos());
        if (closed) {
            return;
        }
        launchMissing(nowNanos);
        drainUnshared(nowNanos);
        retirement
                .replaced(nowNanos, workers.ready(), target.wanted())
                .forEach(worker ->
                        drain(nowNanos, worker, recycling.has(worker) ? DrainCode.REQUESTED : DrainCode.DEADLINE));
        if (seen != null && view.mayScaleIn()) {
            int watched = rollout.unseenWatched(target.wanted(), workers);
            int kept = Math.max(0, target.kept() - Math.max(0, view.workers() - watched));
            List<WorkerLife> ready = workers.ready();
            // Without traffic, nothing can be watched.
            ready.removeIf(worker -> target.kept() > 0 && rollout.isWatched(worker));
            Retirement.surplus(ready, kept, workers.count(worker -> worker.is(State.DRAINING)))
                    .forEach(worker -> drain(nowNanos, worker, DrainCode.SCALE_IN));
        }
    }

    private List<WorkerLife> outdated(long nowNanos) {
        List<WorkerLife> versions = rollout.outdated(workers);
        List<WorkerLife> connections = shares.outdated(nowNanos, workers);
        List<WorkerLife> old = tooOld(nowNanos);
        if (connections.isEmpty() && old.isEmpty()) {
            return versions;
        }
        List<WorkerLife> all = new ArrayList<>(connections);
        all.addAll(old);
        all.addAll(versions);
        return all;
    }

    /**
     * Returns the workers that have reached the maximum age. Their deadlines are later, because the
     * age was set after they were ready. They are replaced a few at a time, because a new deadline
     * in the past would cut off the requests of all of them.
     */
    private List<WorkerLife> tooOld(long nowNanos) {
        long age = policy.maxWorkerAge().toNanos();
        if (age == 0) {
            return List.of();
        }
        List<WorkerLife> old = workers.ready();
        old.removeIf(worker -> !worker.ours || nowNanos - worker.launchedNanos < age);
        return old;
    }

    /**
     * Drains workers before their replacements are ready, because these cannot be launched as long
     * as the workers have too many downstream connections.
     */
    private void drainUnshared(long nowNanos) {
        int count = shares.drainable(workers);
        for (WorkerLife worker : count == 0 ? List.<WorkerLife>of() : shares.outdated(nowNanos, workers)) {
            if (count > 0 && recycling.has(worker)) {
                drain(nowNanos, worker, DrainCode.REQUESTED);
                count--;
            }
        }
    }

    private void everySecond(long nowNanos, List<WorkerDemand> seen) {
        retirement.onSecond();
        for (WorkerDemand one : seen) {
            WorkerLife worker = workers.get(one.workerId());
            if (worker != null) {
                int before = worker.allowed();
                WorkerDemand second = worker.onSecond(nowNanos, one);
                if (second != null) {
                    rollout.onExchanges(nowNanos, worker, second);
                }
                tellLimit(worker, before);
            }
        }
        for (WorkerLife worker : workers.all()) {
            if (worker.settles(nowNanos, SETTLED_NANOS) && worker.ours) {
                guard.onSettled();
                rollout.onSettled(worker);
            }
            endOverdue(nowNanos, worker);
            if (worker.ours && worker.isEjected() && worker.ejections() >= MOST_EJECTIONS) {
                drain(nowNanos, worker, DrainCode.REQUESTED);
            }
        }
        rollout.onSecond(nowNanos, workers, nowNanos - startedNanos >= RETURN_NANOS);
    }

    private void tellLimit(WorkerLife worker, int before) {
        if (worker.allowed() != before) {
            boolean less = worker.allowed() < before;
            String reason = less ? "its event loop is late, or its heap is full" : "it is less loaded";
            actions.limit(worker.id, worker.allowed(), reason);
        }
    }

    private void endOverdue(long nowNanos, WorkerLife worker) {
        long limit = function.launching().launchTimeout().toNanos();
        if (worker.is(State.LAUNCHED) && worker.endsAfter(nowNanos, limit)) {
            actions.kill(
                    worker.id,
                    "has not dialled in within " + function.launching().launchTimeout());
        } else if (worker.is(State.DIALLED) && worker.endsAfter(nowNanos, limit * TIMES_LONGER_TO_BE_READY)) {
            actions.kill(worker.id, "has dialled in, but has not become ready");
        } else if (worker.hasParted() && worker.endsAfter(nowNanos, limit)) {
            actions.kill(
                    worker.id,
                    "has drained, but has not exited within "
                            + function.launching().launchTimeout());
        }
    }

    private void launchMissing(long nowNanos) {
        int capacity =
                fleet.workers() + workers.count(worker -> worker.isCapacity(nowNanos) && !rollout.isWatched(worker));
        int placesLeft = replaceEjected(nowNanos, capacity);
        int starting = workers.count(WorkerLife::isStarting);
        int there = workers.count(worker -> worker.ours && !worker.hasExited() && !worker.is(State.DRAINING));
        // Workers that expire or have lost their connections are replaced. Twice the maximum bounds
        // the workers that run during replacement.
        int watched = rollout.watchedWorkers(target.wanted());
        int others = Math.min(Math.min(target.wanted(), policy.maxWorkers() - watched) - capacity, placesLeft);
        int missingWatched = watched == 0 ? 0 : missingWatched(nowNanos, watched, capacity);
        int missing = Math.min(Math.max(0, others) + Math.max(0, missingWatched), 2 * policy.maxWorkers() - there);
        int room = shares.room(nowNanos, workers);
        lacksConnections = missing > room;
        int permitted = guard.permitted(nowNanos, Math.min(missing, room), starting);
        int count = Math.min(permitted, fleet.launchable());
        ungranted = permitted - count;
        int share = shares.ofNewWorker();
        for (int i = 0; i < count; i++) {
            String version = rollout.launchVersion(i >= others);
            workers.onLaunched(nowNanos, actions.launch(version, share), version, share);
            guard.onLaunched(nowNanos);
        }
    }

    /**
     * Drains ejected workers, if there is no place for their replacements within the maximum.
     *
     * @return how many workers may be launched within the maximum
     */
    private int replaceEjected(long nowNanos, int capacity) {
        int missing = target.wanted() - capacity;
        int places =
                policy.maxWorkers() - capacity - workers.count(worker -> worker.ours && isEjected(nowNanos, worker));
        for (WorkerLife worker : workers.ready()) {
            if (missing > places && worker.ours && worker.isEjected()) {
                drain(nowNanos, worker, DrainCode.REQUESTED);
                missing--;
            }
        }
        return Math.max(0, places);
    }

    /** Returns whether the worker occupies the place of its replacement. */
    private static boolean isEjected(long nowNanos, WorkerLife worker) {
        boolean leaving = worker.is(State.DRAINING) && worker.inStateNanos(nowNanos) < LEAVING_NANOS;
        return worker.isEjected() || leaving && worker.ejection() != null;
    }

    /**
     * Returns how many watched workers this dispatcher should launch. They run beside the workers
     * that the traffic needs. If that would exceed the maximum, they replace some of these.
     */
    private int missingWatched(long nowNanos, int watched, int others) {
        if (!rollout.launchesWatched()) {
            return 0;
        }
        int there = workers.count(worker -> worker.isCapacity(nowNanos) && rollout.isWatched(worker));
        int tooMany = others + watched - policy.maxWorkers();
        for (WorkerLife worker : workers.ready()) {
            if (tooMany > 0 && worker.ours && worker.isCapacity(nowNanos) && !rollout.isWatched(worker)) {
                worker.expire();
                tooMany--;
            }
        }
        return watched - there;
    }

    private void drain(long nowNanos, WorkerLife worker, DrainCode reason) {
        if (worker.onDraining(nowNanos)) {
            tellToDrain(nowNanos, worker, reason);
        }
    }

    private void tellToDrain(long nowNanos, WorkerLife worker, DrainCode reason) {
        actions.drain(worker.id, reason, Retirement.graceNanos(nowNanos, worker));
    }

    /**
     * Returns whether requests may overflow to direct invocations. The kill switch and the
     * spending limit apply to them, but not the pause after a failed launch.
     */
    public boolean permitsOverflow() {
        return !guard.isStopped() && target.spend().isWithinCeiling();
    }

    /**
     * Returns why no request is served soon: no worker is connected or starting, in the whole
     * fleet, and launches are blocked. Returns {@code null} if a request may be served soon.
     */
    public @Nullable LaunchPause pause(long nowNanos) {
        boolean mayComeBack = !started || nowNanos - startedNanos < RETURN_NANOS;
        if (closed || mayComeBack || fleet.workers() > 0 || workers.count(worker -> isExpected(nowNanos, worker)) > 0) {
            return null;
        }
        LaunchPause own = guard.pause(nowNanos);
        return own == null ? target.pause(nowNanos) : own;
    }

    private static boolean isExpected(long nowNanos, WorkerLife worker) {
        return worker.is(State.READY) || worker.isCapacity(nowNanos);
    }

    /**
     * What the controller knows about a worker that its connections do not tell.
     *
     * @param starting whether it has no connection, but is expected to connect
     * @param launched whether the dispatcher launched it
     * @param ageNanos time since its launch or, if it is self-launched, since it connected
     * @param ejection why it gets no requests for some time; {@code null} if it is not ejected
     */
    public record Life(
            boolean starting,
            boolean launched,
            long ageNanos,
            @Nullable String ejection) {}

    /** Returns all workers by id, oldest first. */
    public Map<String, Life> lives(long nowNanos) {
        Map<String, Life> lives = new LinkedHashMap<>();
        for (WorkerLife worker : workers.all()) {
            lives.put(
                    worker.id,
                    new Life(
                            worker.is(State.LAUNCHED),
                            worker.ours,
                            nowNanos - worker.launchedNanos,
                            worker.ejection()));
        }
        return lives;
    }

    /**
     * Returns the state after the latest {@link #evaluate}.
     *
     * @param fleetObstacle why the fleet permits fewer launches than are wanted, in one line;
     *     {@code null} = it permits them
     */
    public CapacitySnapshot status(long nowNanos, @Nullable String fleetObstacle) {
        String own = guard.obstacle(nowNanos);
        String connections = lacksConnections ? shares.text(workers) : null;
        String outer = connections == null ? fleetObstacle : connections;
        String obstacle = own == null ? outer : own;
        return new CapacitySnapshot(
                function.name(),
                target.wanted(),
                workers.count(worker -> worker.is(State.LAUNCHED) || worker.is(State.DIALLED)),
                workers.count(worker -> worker.is(State.READY)),
                workers.count(worker -> worker.is(State.DRAINING)),
                workers.count(WorkerLife::isEjected),
                guard.launchesInLastMinute(nowNanos),
                target.spend().lastHourGbSeconds(),
                target.spend().totalGbSeconds(),
                rollout.snapshot(workers),
                obstacle == null ? target.obstacle() : obstacle);
    }
}
