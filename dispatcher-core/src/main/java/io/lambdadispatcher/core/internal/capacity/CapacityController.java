package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.internal.capacity.WorkerLife.State;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainReason;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Decides how many workers one function has: launches what the traffic needs and the guard permits, replaces workers before their
 * deadline, lets the least busy go when there are too many, puts sick ones aside. Little's law says how many are needed; what waits
 * right now adds to it at once.
 *
 * <p>Confined to one thread. Times are {@link System#nanoTime()}-like: only differences count. What it decides it does through
 * {@link Actions}, which must not call back.
 */
public final class CapacityController {

    /** What it can do to workers. */
    public interface Actions {
        /** Starts a worker, whose exit is reported later in any case. @return its id */
        String launch();

        /** It takes no more requests, and ends when it has answered those it has, at the latest after {@code graceNanos}. */
        void drain(String workerId, DrainReason reason, long graceNanos);

        /** Ends it by force. */
        void kill(String workerId, String reason);

        /** At most so many exchanges at once; 0 = none for now. */
        void limit(String workerId, int exchanges);
    }

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    /** Samples come a little early or late. */
    private static final long NEARLY_A_SECOND = SECOND * 9 / 10;
    /** Ready for so long, a worker counts as having worked. */
    private static final long SETTLED_NANOS = 10 * SECOND;

    private static final long DEFAULT_START_NANOS = 5 * SECOND;
    private static final long MAX_GRACE_NANOS = TimeUnit.MINUTES.toNanos(15);
    private static final int SERVICE_TIMES_KEPT = 20_000;
    private static final int MOST_EJECTIONS = 3;
    /** A handler may take its time to start; one that hangs is not to count as capacity for ever. */
    private static final int TIMES_LONGER_TO_BE_READY = 4;

    /** A worker that has lost its connections is counted on for so long. */
    private static final long REDIAL_NANOS = 3 * SECOND;
    /** So long before its deadline our worker library drains by itself, or a tenth of its life where that is less. */
    private static final long WORKERS_OWN_MARGIN_NANOS = 10 * SECOND;

    /** Not all at once when far fewer are needed. */
    private static final double SCALE_IN_SHARE = 0.1;

    private final CapacityPolicy policy;
    private final FunctionOptions function;
    private final Actions actions;
    private final LaunchGuard guard;
    private final SpendMeter spend;
    private final OfferedLoad load = new OfferedLoad();
    private final Backlog backlog = new Backlog();
    private final ServiceTimes serviceTimes = new ServiceTimes();
    private final WindowMax recentlyWanted;
    private final Map<String, WorkerLife> workers = new LinkedHashMap<>();

    private long lastRequestNanos;
    private boolean everRequested;
    private long arrivedBefore;
    private long meanStartNanos = DEFAULT_START_NANOS;
    /** What all but one response in a thousand take less than. */
    private long slowNanos;

    private boolean started;
    private long secondNanos;
    private int wanted;
    private boolean closed;

    public CapacityController(FunctionOptions function, Actions actions, RandomGenerator random) {
        this.function = function;
        this.policy = function.capacity();
        this.actions = actions;
        this.guard = new LaunchGuard(function.launching(), random);
        this.spend = new SpendMeter(
                function.launching().gbSecondsPerHour(), function.launching().workerMegabytes());
        this.recentlyWanted = new WindowMax(policy.scaleInAfter().toNanos());
    }

    // What happens.

    /** Launches nothing from now on. */
    public void close() {
        closed = true;
    }

    /** The kill switch: {@code false} = no launch until it is set again. Workers that are there go on. */
    public void setLaunching(boolean value) {
        guard.setStopped(!value);
    }

    public void onDialled(long nowNanos, String workerId) {
        WorkerLife worker = workers.computeIfAbsent(
                workerId, id -> WorkerLife.selfLaunched(id, nowNanos, function.streamsPerWorker()));
        worker.onDialled(nowNanos);
    }

    /** @param deadlineNanos when it must be gone; {@link Long#MAX_VALUE} = it need not */
    public void onReady(long nowNanos, String workerId, long deadlineNanos) {
        onDialled(nowNanos, workerId);
        WorkerLife worker = worker(workerId);
        if (worker == null) {
            return;
        }
        if (worker.is(State.DRAINING)) {
            worker.onBack();
            // It lost its connections before it heard so.
            tellToDrain(nowNanos, worker, DrainReason.REQUESTED);
            return;
        }
        boolean first = !worker.everReady();
        if (worker.onReady(nowNanos, earlier(deadlineNanos, worker)) && worker.ours && first) {
            meanStartNanos += (worker.startNanos() - meanStartNanos) / 4;
            guard.onReady(worker.launchedNanos);
        }
        if (worker.allowed() < function.streamsPerWorker()) {
            // The connections that were told have gone.
            actions.limit(worker.id, worker.allowed());
        }
    }

    private long earlier(long deadlineNanos, WorkerLife worker) {
        if (policy.maxWorkerLife().isZero()) {
            return deadlineNanos;
        }
        long own = worker.launchedNanos + policy.maxWorkerLife().toNanos();
        return deadlineNanos == WorkerLife.NEVER || own - deadlineNanos < 0 ? own : deadlineNanos;
    }

    /** It drains by itself or because somebody else told it to. */
    public void onDraining(long nowNanos, String workerId) {
        WorkerLife worker = worker(workerId);
        if (worker != null) {
            worker.onDraining(nowNanos);
        }
    }

    /** Its last connection has gone. @param clean after a goodbye */
    public void onDisconnected(long nowNanos, String workerId, boolean clean) {
        WorkerLife worker = worker(workerId);
        if (worker == null) {
            return;
        }
        if (!worker.ours || worker.hasExited()) {
            worker.onGone(nowNanos);
            workers.remove(workerId);
        } else if (clean || worker.is(State.DRAINING)) {
            worker.onParted(nowNanos);
        } else {
            worker.onDisconnected(nowNanos);
        }
    }

    /** A launched worker is no more. */
    public void onExit(long nowNanos, String workerId, WorkerExit exit) {
        WorkerLife worker = worker(workerId);
        if (worker == null) {
            return;
        }
        State before = worker.state();
        if (before == State.DIALLED || before == State.READY) {
            // A process that has ended loses its connections presently. If it does not, it lives, and only what held
            // its invoke has gone.
            worker.onExit();
        } else {
            worker.onGone(nowNanos);
            workers.remove(workerId);
        }
        if (closed) {
            return;
        }
        if (!worker.everReady()) {
            Cause cause = exit.cause() == Cause.ENDED ? Cause.FAILED : exit.cause();
            guard.onFailed(nowNanos, worker.launchedNanos, cause, exit.detail());
        } else if (before != State.DRAINING && exit.failed() && !worker.isSettled()) {
            guard.onFailed(nowNanos, worker.launchedNanos, exit.cause(), exit.detail());
        }
    }

    public void onLoad(long nowNanos, String workerId, int memoryPermille, int loopLagMicros) {
        WorkerLife worker = worker(workerId);
        // A JVM that has just started is late, however little is asked of it.
        if (worker != null && worker.is(State.READY) && worker.inStateNanos(nowNanos) >= SETTLED_NANOS) {
            int before = worker.allowed();
            worker.limit.onReport(nowNanos, memoryPermille, loopLagMicros);
            tellLimit(worker, before);
        }
    }

    private @Nullable WorkerLife worker(String id) {
        return workers.get(id);
    }

    // What follows from it.

    /** Looks at everything and acts. To be called every second with a demand that names workers, and soon after requests have begun to wait. */
    public void evaluate(long nowNanos, Demand demand) {
        load.onSample(nowNanos, demand);
        backlog.onSample(nowNanos, demand.pending());
        rememberServiceTimes(demand.serviceTimes());
        spend.advance(nowNanos, alive());
        rememberRequests(nowNanos, demand);
        boolean due = !started || nowNanos - secondNanos >= NEARLY_A_SECOND;
        List<WorkerDemand> seen = due ? demand.workers() : null;
        if (seen != null) {
            started = true;
            secondNanos = nowNanos;
            everySecond(nowNanos, seen);
        }
        expire(nowNanos);
        wanted = wantedWorkers(nowNanos, demand);
        int kept = recentlyWanted.add(nowNanos, wanted);
        if (closed) {
            return;
        }
        launchMissing(nowNanos);
        replaceExpiring(nowNanos);
        if (seen != null) {
            letSurplusGo(nowNanos, Math.min(kept, spend.affordableWorkers()));
        }
    }

    private void rememberServiceTimes(ServiceTimes recent) {
        if (serviceTimes.count() > SERVICE_TIMES_KEPT) {
            serviceTimes.halve();
        }
        serviceTimes.addAll(recent);
    }

    private void rememberRequests(long nowNanos, Demand demand) {
        if (demand.arrived() != arrivedBefore || demand.busy() + demand.pending() > 0) {
            everRequested = true;
            lastRequestNanos = nowNanos;
            arrivedBefore = demand.arrived();
        }
    }

    private void everySecond(long nowNanos, List<WorkerDemand> seen) {
        slowNanos = serviceTimes.quantileNanos(0.999);
        for (WorkerDemand one : seen) {
            WorkerLife worker = worker(one.workerId());
            if (worker != null) {
                int before = worker.allowed();
                worker.onSecond(nowNanos, one);
                tellLimit(worker, before);
            }
        }
        for (WorkerLife worker : List.copyOf(workers.values())) {
            if (worker.settles(nowNanos, SETTLED_NANOS) && worker.ours) {
                guard.onSettled();
            }
            endOverdue(nowNanos, worker);
            if (worker.returns(nowNanos)) {
                actions.limit(worker.id, worker.allowed());
            }
        }
        OutlierDetector.find(in(State.READY)).forEach(worker -> putAside(nowNanos, worker));
    }

    private void tellLimit(WorkerLife worker, int before) {
        if (worker.allowed() != before) {
            actions.limit(worker.id, worker.allowed());
        }
    }

    private void putAside(long nowNanos, WorkerLife worker) {
        worker.eject(nowNanos);
        actions.limit(worker.id, 0);
        if (worker.ours && worker.ejections >= MOST_EJECTIONS) {
            drain(nowNanos, worker, DrainReason.REQUESTED);
        }
    }

    private void endOverdue(long nowNanos, WorkerLife worker) {
        long limit = function.launching().noShowAfter().toNanos();
        if (worker.is(State.LAUNCHED) && worker.endsAfter(nowNanos, limit)) {
            actions.kill(
                    worker.id, "has not dialled in for " + function.launching().noShowAfter());
        } else if (worker.is(State.DIALLED) && worker.endsAfter(nowNanos, limit * TIMES_LONGER_TO_BE_READY)) {
            actions.kill(worker.id, "has dialled in, but is not ready");
        } else if (worker.hasParted() && worker.endsAfter(nowNanos, limit)) {
            actions.kill(
                    worker.id,
                    "has drained, but has not ended for " + function.launching().noShowAfter());
        }
    }

    /** Workers that the traffic needs, within the policy and the purse. */
    private int wantedWorkers(long nowNanos, Demand demand) {
        int needed = neededWorkers(nowNanos, demand);
        int spare = needed > 0 || policy.minWorkers() > 0 ? policy.warmWorkers() : 0;
        int within = (int) Math.min(policy.maxWorkers(), Math.max(policy.minWorkers(), (long) needed + spare));
        return Math.min(within, spend.affordableWorkers());
    }

    private int neededWorkers(long nowNanos, Demand demand) {
        if (!everRequested || nowNanos - lastRequestNanos >= policy.idleAfter().toNanos() && isIdle(demand)) {
            return 0;
        }
        double streams = Math.max(
                load.streams() * (1 + policy.headRoom()), demand.busy() + backlog.streams(load.meanServiceNanos()));
        return (int) Math.max(1, Math.min(Integer.MAX_VALUE, Math.ceil(streams / streamsPerWorker())));
    }

    private static boolean isIdle(Demand demand) {
        return demand.busy() + demand.pending() == 0;
    }

    /** What a worker takes at once: its streams, or less if workers have shown that they cannot cope with as many. */
    private double streamsPerWorker() {
        int sum = 0;
        int count = 0;
        for (WorkerLife worker : workers.values()) {
            if (worker.is(State.READY) && !worker.isEjected()) {
                sum += worker.allowed();
                count++;
            }
        }
        return count == 0 ? function.streamsPerWorker() : (double) sum / count;
    }

    private void launchMissing(long nowNanos) {
        int coming = 0;
        int starting = 0;
        int there = 0;
        for (WorkerLife worker : workers.values()) {
            coming += isCapacityToCome(nowNanos, worker) ? 1 : 0;
            starting += worker.ours && !worker.everReady() && !worker.hasExited() ? 1 : 0;
            there += worker.ours && !worker.hasExited() && !worker.is(State.DRAINING) ? 1 : 0;
        }
        // Those that expire, are put aside or have lost their connections are replaced, but not again and again.
        int missing = Math.min(wanted - coming, 2 * policy.maxWorkers() - there);
        int count = guard.permitted(nowNanos, missing, starting);
        for (int i = 0; i < count; i++) {
            String id = actions.launch();
            workers.put(id, WorkerLife.launched(id, nowNanos, function.streamsPerWorker()));
            guard.onLaunched(nowNanos);
        }
    }

    private boolean isCapacityToCome(long nowNanos, WorkerLife worker) {
        return switch (worker.state()) {
            case LAUNCHED -> !worker.everReady() || worker.inStateNanos(nowNanos) < REDIAL_NANOS;
            case DIALLED -> !worker.hasExited();
            case READY -> !worker.isEjected() && !worker.isExpiring();
            case DRAINING, GONE -> false;
        };
    }

    // Replacement.

    private void expire(long nowNanos) {
        for (WorkerLife worker : workers.values()) {
            if (worker.is(State.READY) && worker.ours && worker.hasDeadline() && needsReplacement(nowNanos, worker)) {
                worker.expire();
            }
        }
    }

    /** Its replacement should be launched by now. */
    private boolean needsReplacement(long nowNanos, WorkerLife worker) {
        long lead = 2 * meanStartNanos + slowNanos + 2 * SECOND;
        long spread = (long) (worker.lot() * worker.lifeNanos() / 10);
        long bounded = Math.min(Math.max(lead, 3 * SECOND), worker.lifeNanos() / 3);
        return worker.leftNanos(nowNanos) <= partingNanos(worker) + bounded + spread;
    }

    /** Before the deadline: room for nearly every response to end, and earlier than the worker drains by itself. */
    private long partingNanos(WorkerLife worker) {
        long own = Math.min(WORKERS_OWN_MARGIN_NANOS, worker.lifeNanos() / 10);
        return Math.min(SECOND + own + slowNanos + slowNanos / 4, worker.lifeNanos() / 4);
    }

    /** Those that expire go, oldest first, as soon as others stand in for them, and in any case in time. */
    private void replaceExpiring(long nowNanos) {
        List<WorkerLife> expiring = new ArrayList<>();
        int fresh = 0;
        for (WorkerLife worker : in(State.READY)) {
            if (worker.isExpiring()) {
                expiring.add(worker);
            } else {
                fresh += worker.isEjected() ? 0 : 1;
            }
        }
        expiring.sort(Comparator.comparingLong(worker -> worker.leftNanos(nowNanos)));
        int spare = fresh + expiring.size() - wanted;
        for (WorkerLife worker : expiring) {
            if (spare > 0 || worker.leftNanos(nowNanos) <= partingNanos(worker)) {
                drain(nowNanos, worker, DrainReason.DEADLINE);
                spare--;
            }
        }
    }

    // Scale-in.

    private void letSurplusGo(long nowNanos, int kept) {
        List<WorkerLife> ready = in(State.READY).stream()
                .filter(worker -> worker.ours)
                .sorted(Comparator.comparingInt(WorkerLife::busy))
                .toList();
        // Those that start are not counted: until they are ready they stand in for nobody.
        int serving = 0;
        for (WorkerLife worker : workers.values()) {
            serving += worker.is(State.READY) && isCapacityToCome(nowNanos, worker) ? 1 : 0;
        }
        int surplus = serving - kept;
        int atOnce = (int) Math.max(1, Math.ceil(ready.size() * SCALE_IN_SHARE));
        for (int i = 0; i < Math.min(Math.min(surplus, atOnce), ready.size()); i++) {
            drain(nowNanos, ready.get(i), DrainReason.SCALE_IN);
        }
    }

    private void drain(long nowNanos, WorkerLife worker, DrainReason reason) {
        if (worker.onDraining(nowNanos)) {
            tellToDrain(nowNanos, worker, reason);
        }
    }

    private void tellToDrain(long nowNanos, WorkerLife worker, DrainReason reason) {
        long grace = worker.hasDeadline()
                ? Math.max(0, Math.min(MAX_GRACE_NANOS, worker.leftNanos(nowNanos) - SECOND / 2))
                : MAX_GRACE_NANOS;
        actions.drain(worker.id, reason, grace);
    }

    private Collection<WorkerLife> in(State state) {
        List<WorkerLife> found = new ArrayList<>();
        for (WorkerLife worker : workers.values()) {
            if (worker.is(state)) {
                found.add(worker);
            }
        }
        return found;
    }

    private int alive() {
        int ours = 0;
        for (WorkerLife worker : workers.values()) {
            ours += worker.ours ? 1 : 0;
        }
        return ours;
    }

    private @Nullable String obstacle(long nowNanos) {
        String held = guard.obstacle(nowNanos);
        boolean poor = spend.affordableWorkers() < policy.maxWorkers() && wanted == spend.affordableWorkers();
        return held == null && poor
                ? "the limit of " + Math.round(function.launching().gbSecondsPerHour())
                        + " GB-seconds an hour does not pay for more workers"
                : held;
    }

    public CapacitySnapshot status(long nowNanos) {
        int launched = 0;
        int ready = 0;
        int draining = 0;
        int ejected = 0;
        for (WorkerLife worker : workers.values()) {
            switch (worker.state()) {
                case LAUNCHED, DIALLED -> launched++;
                case READY -> ready++;
                case DRAINING -> draining++;
                case GONE -> {}
            }
            ejected += worker.isEjected() ? 1 : 0;
        }
        return new CapacitySnapshot(
                function.name(),
                wanted,
                launched,
                ready,
                draining,
                ejected,
                guard.launchesInLastMinute(nowNanos),
                spend.lastHourGbSeconds(),
                spend.totalGbSeconds(),
                obstacle(nowNanos));
    }
}
