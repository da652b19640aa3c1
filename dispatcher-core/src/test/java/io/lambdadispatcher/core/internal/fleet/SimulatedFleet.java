package io.lambdadispatcher.core.internal.fleet;

import io.lambdadispatcher.core.internal.capacity.CapacityController;
import io.lambdadispatcher.core.internal.capacity.Demand;
import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.internal.capacity.NamedVersion;
import io.lambdadispatcher.core.internal.capacity.Plan;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.ServiceTimes;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Several dispatchers, their workers and their ledger in virtual time, with faults. After each
 * event that could exceed a limit, the {@link FleetInvariants} are checked.
 */
final class SimulatedFleet {
    static final long SECOND = 1_000_000_000;
    private static final double SERVICE_SECONDS = 0.1;
    private static final int STREAMS = 10;
    private static final int MEGABYTES = 1024;
    private static final Duration LAUNCH_TIMEOUT = Duration.ofSeconds(15);
    /** The time after which an end of a connection notices that the other one is silent. */
    private static final long PING_NANOS = 5 * SECOND;
    /** An answer of the ledger can be so old. What was written since then is not in it. */
    private static final long ANSWER_NANOS = 3 * SECOND;
    /** The part of each time without the ledger that can count as the silence of a dispatcher. */
    private static final long LONGEST_LOOK_NANOS = 2 * SECOND;

    /**
     * What the operator has chosen.
     *
     * @param gbSecondsPerHour 0 = no limit
     * @param life the longest life of a worker on Lambda, and what is paid for at a time for a
     *     local one
     * @param local whether workers are processes, which have no deadline and can be killed
     * @param balanced whether a worker that starts finds a balancer in front of the dispatchers, as
     *     operators should not do
     * @param downstreamConnections what all workers together may have; 0 = no limit
     */
    record Kind(
            int maxWorkers,
            int launchesPerMinute,
            double gbSecondsPerHour,
            Duration life,
            boolean local,
            boolean balanced,
            int downstreamConnections) {}

    final VirtualTime time = new VirtualTime();
    final SimulatedLedger.Store store = new SimulatedLedger.Store();
    final SplittableRandom random;
    final List<SimulatedDispatcher> dispatchers = new ArrayList<>();
    final Map<String, SimulatedWorker> workers = new LinkedHashMap<>();
    final Map<String, SimulatedWorker> everLaunched = new LinkedHashMap<>();
    final FleetInvariants invariants = new FleetInvariants(this);
    final List<String> events = new ArrayList<>();
    final Kind kind;
    final FunctionOptions function;
    final BudgetLimits limits;
    /** Streams that the clients of the fleet need. */
    double streams;

    /** The version that the launchers of all dispatchers name; empty = none. */
    String alias = "";

    /** The version that a worker of the base states, and that is published; empty = no base. */
    String base = "";
    /** How long after its start the worker of the base dials a dispatcher. */
    long baseDialsNanos = SECOND;
    /** What dispatchers said of versions that differ. */
    final Set<String> differences = new HashSet<>();

    /** Versions whose workers fail all requests. */
    final Set<String> broken = new HashSet<>();

    private Budget budget = new Budget();
    private long budgetVersion;
    private long downNanos;
    private long downSinceNanos;
    /** How often the ledger has come back. */
    int returns;

    int launches;

    /** Whether zone 1 can reach neither the ledger nor zone 0. */
    boolean partitioned;
    /** Until when the platform throttles launches. */
    long throttledUntilNanos;
    /** Whether a few workers take longer to start than the launch timeout. */
    boolean slowStarts = true;
    /** Whether dispatchers fail in bad moments: when they have just changed a budget. */
    boolean badMoments;

    SimulatedFleet(long seed, Kind kind) {
        this.random = new SplittableRandom(seed);
        this.kind = kind;
        this.function = FunctionOptions.builder("f")
                .streamsPerConnection(STREAMS)
                .capacity(CapacityPolicy.builder()
                        .workers(0, kind.maxWorkers)
                        .idleTimeout(Duration.ofSeconds(20))
                        .scaleDownDelay(Duration.ofSeconds(5))
                        .maxWorkerAge(kind.local ? Duration.ZERO : kind.life)
                        .downstreamConnections(kind.downstreamConnections, 1)
                        .build())
                .launching(LaunchLimits.builder()
                        .launchesPerMinute(kind.launchesPerMinute)
                        .gbSecondsPerHour(kind.gbSecondsPerHour)
                        .workerMegabytes(MEGABYTES)
                        .launchTimeout(LAUNCH_TIMEOUT)
                        .build())
                .build();
        BudgetLimits all = BudgetLimits.of(function);
        this.limits = new BudgetLimits(
                all.maxWorkers(),
                all.maxAlive(),
                all.launchesPerMinute(),
                all.megabyteMillisPerHour(),
                all.workerMegabytes(),
                all.dialInMillis(),
                kind.life.toMillis(),
                all.downstream());
    }

    void note(String event) {
        events.add("%.3f %s".formatted(time.nanos() / 1e9, event));
    }

    void fail(String problem) {
        throw new AssertionError(problem + "\n"
                + String.join("\n", events.subList(Math.max(0, events.size() - 60), events.size())));
    }

    SimulatedDispatcher start() {
        return start("address" + dispatchers.size());
    }

    SimulatedDispatcher start(String address) {
        SimulatedDispatcher dispatcher = new SimulatedDispatcher(address);
        dispatchers.add(dispatcher);
        note("start " + dispatcher.member.id + " at " + address);
        dispatcher.start();
        return dispatcher;
    }

    List<SimulatedDispatcher> serving() {
        return dispatchers.stream()
                .filter(each -> !each.killed && !each.left && !each.paused)
                .toList();
    }

    @Nullable
    SimulatedDispatcher dispatcher(String id) {
        return dispatchers.stream()
                .filter(each -> each.member.id.equals(id))
                .findAny()
                .orElse(null);
    }

    Budget budget() {
        Ledger.Entry entry = store.entries.get("function/f");
        if (entry != null && entry.version() != budgetVersion && !entry.value().isEmpty()) {
            budget = Budget.parse(entry.value());
            budgetVersion = entry.version();
        }
        return budget;
    }

    // Faults of the whole fleet.

    /** An operator removes the entry of the function. */
    void removeBudget() {
        note("remove budget");
        store.entries.remove("function/f");
        budget = new Budget();
        budgetVersion = 0;
        invariants.onBudgetRemoved();
    }

    void setDown(boolean value) {
        note("ledger down: " + value);
        downNanos += store.down ? time.nanos() - downSinceNanos : 0;
        returns += store.down && !value ? 1 : 0;
        downSinceNanos = time.nanos();
        store.down = value;
    }

    /** Returns for how long the ledger has been up. */
    long upNanos() {
        return time.nanos() - downNanos - (store.down ? time.nanos() - downSinceNanos : 0);
    }

    void setPartitioned(boolean value) {
        note("partitioned: " + value);
        partitioned = value;
        if (value) {
            time.after(PING_NANOS, this::loseConnections);
        }
    }

    /** Ends the connections whose two ends cannot reach each other. */
    void loseConnections() {
        for (SimulatedWorker worker : List.copyOf(workers.values())) {
            for (SimulatedDispatcher each : List.copyOf(worker.connections.keySet())) {
                if (!worker.reaches(each)) {
                    worker.onLost(each);
                }
            }
        }
    }

    // What is seen from outside.

    /** Returns for how long a dispatcher has had no fault; 0 = it has one now. */
    long wellNanos(SimulatedDispatcher dispatcher) {
        return dispatcher.isWell() ? time.nanos() - dispatcher.wellSinceNanos : 0;
    }

    void pass(long nanos) {
        long end = time.nanos() + nanos;
        while (time.nanos() < end) {
            time.runUntil(Math.min(end, time.nanos() + SECOND / 4));
            for (SimulatedDispatcher each : dispatchers) {
                each.wellSinceNanos = each.isWell() ? each.wellSinceNanos : time.nanos();
            }
            invariants.checkAdmitted();
            invariants.checkLeft();
        }
    }

    String admitted() {
        StringBuilder text = new StringBuilder();
        for (SimulatedWorker worker : workers.values()) {
            text.append("\n").append(worker.id).append(" started ").append(worker.startedNanos / 1e9);
            worker.connections.keySet().forEach(each -> text.append(" at ").append(each.member.id));
            text.append(" slot ").append(budget().slot(worker.id));
        }
        return text.toString();
    }

    /** Returns whether the workers that serve or start are enough for the clients. */
    boolean isDemandMet() {
        long ready = workers.values().stream()
                .filter(worker -> worker.connections.keySet().stream().anyMatch(each -> !each.killed && !each.left))
                .filter(worker -> !worker.draining)
                .count();
        return ready * STREAMS >= streams;
    }

    boolean areSlotsFree() {
        return budget().obstacle(time.millis(), limits) == null;
    }

    /** One dispatcher, with the real controller and the real member of the fleet. */
    final class SimulatedDispatcher implements FleetFunction.Listener, SimulatedLedger.Watcher {
        final SimulatedLedger ledger = new SimulatedLedger(store, time, random.split(), this);
        private final ArrayDeque<Runnable> heldTasks = new ArrayDeque<>();
        final String address;
        final int zone = random.nextInt(2);
        final FleetMember member;
        final FleetFunction fleetFunction;
        final CapacityController controller;
        final Set<SimulatedWorker> connected = new LinkedHashSet<>();
        private final Map<String, Long> launchedHere = new HashMap<>();
        private final Map<String, long[]> served = new HashMap<>();
        List<String> peers = List.of();
        boolean killed;
        boolean left;
        /** Whether it has carried out that it leaves. */
        boolean closed;

        boolean paused;
        /** For how long its monotonic clock stood still. */
        private long frozenNanos;
        /** By how much its wall clock is ahead. */
        long aheadMillis;

        private final long startedNanos = time.nanos();
        /** Since when it has had no fault. */
        long wellSinceNanos = time.nanos();
        /** When its lease was last renewed in the ledger; -1 = never. */
        long renewedNanos = -1;
        /** The same, as the time for which the ledger was up. */
        long renewedUpNanos;
        /** How often the ledger had come back then. */
        int renewedReturns;
        /** When its lease was last renewed so late that others may have taken it for gone. */
        long lateUpNanos = -60 * SECOND;
        /** When its operator last permitted launches; -1 = never. */
        long switchedOnNanos = -1;

        private boolean looking;
        private double arrived;
        private double completed;
        private double serviceNanos;

        SimulatedDispatcher(String address) {
            this.address = address;
            member = new FleetMember(
                    ledger,
                    this::execute,
                    new FleetTime() {
                        @Override
                        public long nanos() {
                            return now();
                        }

                        @Override
                        public long millis() {
                            return time.millis() + aheadMillis;
                        }
                    },
                    random.split(),
                    Incidents.unobserved(),
                    this::onPeers,
                    message -> {});
            member.describe(new MemberDescription(List.of(address), "", "1"));
            fleetFunction = member.add("f", limits, this);
            controller = new CapacityController(function, random.split());
        }

        /** Its monotonic clock. */
        private long now() {
            return time.nanos() - frozenNanos;
        }

        @Override
        public boolean reachesLedger() {
            return !ledger.cutOff && !store.down && !(partitioned && zone == 1);
        }

        boolean isWell() {
            return !killed && !left && !paused && reachesLedger() && ledger.lostAnswers == 0 && !ledger.unreadable;
        }

        @Override
        public void onSent() {
            invariants.onSent(this);
        }

        @Override
        public void onApplied(String key) {
            if (!key.equals("function/f")) {
                boolean late = renewedNanos >= 0 && silentNanos() >= FleetInvariants.GONE_NANOS - ANSWER_NANOS;
                lateUpNanos = late ? upNanos() : lateUpNanos;
                renewedNanos = time.nanos();
                renewedUpNanos = upNanos();
                renewedReturns = returns;
                return;
            }
            invariants.onBudget(this);
            if (badMoments && !paused && !killed && !left && random.nextInt(30) == 0) {
                switch (random.nextInt(4)) {
                    case 0 -> killAndRestart();
                    case 1 -> pause(random.nextLong(4 * SECOND, 14 * SECOND), random.nextBoolean());
                    case 2 -> {
                        note("cut off " + member.id + " after a write");
                        ledger.cutOff = true;
                        time.after(random.nextLong(4 * SECOND, 20 * SECOND), () -> ledger.cutOff = false);
                    }
                    default -> ledger.losesNextAnswer = true;
                }
            }
        }

        /**
         * Returns the longest time that another dispatcher can count since the last renewal. Nobody
         * sees anything while the ledger is down, but the first read afterwards counts up to two
         * seconds of that time, after each time that it was down.
         */
        long silentNanos() {
            long counted = upNanos() - renewedUpNanos + (returns - renewedReturns) * LONGEST_LOOK_NANOS;
            return Math.min(counted, time.nanos() - renewedNanos);
        }

        void setLaunching(boolean launching) {
            note(member.id + " is told: launching " + launching);
            switchedOnNanos = launching ? time.nanos() : -1;
            fleetFunction.setLaunching(launching);
            onLaunching(launching);
        }

        /** Runs a task unless the process is gone. A paused process runs it when it continues. */
        void execute(Runnable task) {
            if (paused) {
                heldTasks.add(task);
            } else if (!killed) {
                time.after(0, () -> {
                    if (paused) {
                        heldTasks.add(task);
                    } else if (!killed) {
                        task.run();
                    }
                });
            }
        }

        void start() {
            tick();
            everySecond();
        }

        private void tick() {
            execute(member::tick);
            if (!killed && !closed) {
                time.after(SECOND, this::tick);
            }
        }

        private void everySecond() {
            execute(() -> {
                if (fleetFunction.isFirst()) {
                    String stated = controller.rollout().baseVersion();
                    controller.rollout().onNamed(new NamedVersion(alias, stated, stated));
                    noteDifference();
                }
                if (!base.isEmpty() && time.nanos() - startedNanos >= baseDialsNanos) {
                    controller.workers().onDialled(now(), "base", WorkerKind.BASE);
                    controller.onReady(now(), "base", 1, Long.MAX_VALUE, base);
                }
                look(true);
                noteDifference();
            });
            if (!killed) {
                time.after(SECOND, this::everySecond);
            }
        }

        private void noteDifference() {
            CapacitySnapshot.Base seen = controller.status(now(), null).base();
            if (seen != null && seen.versionDifference() != null) {
                differences.add(seen.versionDifference());
            }
        }

        void kill() {
            note("kill " + member.id);
            killed = true;
            List.copyOf(connected).forEach(worker -> worker.onLost(this));
        }

        /** It starts again at its old address or at another one. */
        void killAndRestart() {
            kill();
            boolean same = random.nextBoolean();
            time.after(random.nextLong(10 * SECOND), () -> {
                if (same) {
                    SimulatedFleet.this.start(address);
                } else {
                    SimulatedFleet.this.start();
                }
            });
        }

        /**
         * Ends as at SIGTERM: it leaves the fleet, and its workers stay with the others, or end if
         * there are none.
         */
        void leave() {
            note("leave " + member.id);
            left = true;
            boolean alone = peers.size() < 2;
            execute(() -> {
                controller.close();
                member.beginLeaving();
                if (alone) {
                    List.copyOf(connected).forEach(SimulatedWorker::drain);
                } else {
                    member.leave().thenRun(() -> closed = true);
                }
            });
            long drained = alone ? 3 * SECOND : SECOND;
            time.after(drained, () -> List.copyOf(connected).forEach(worker -> worker.onLost(this)));
            time.after(drained, () -> execute(() -> member.leave().thenRun(() -> closed = true)));
            time.after(drained + 2 * SECOND, () -> killed = true);
        }

        /** @param frozen whether its machine stands still, and with it the monotonic clock */
        void pause(long nanos, boolean frozen) {
            note("pause " + member.id + " for " + nanos / 1e9 + " s" + (frozen ? ", frozen" : ""));
            paused = true;
            // Workers notice that their pings are not answered.
            if (nanos > PING_NANOS) {
                time.after(PING_NANOS, () -> List.copyOf(connected).forEach(worker -> worker.onLost(this)));
            }
            time.after(nanos, () -> {
                paused = false;
                frozenNanos += frozen ? nanos : 0;
                note("continue " + member.id);
                List<Runnable> held = List.copyOf(heldTasks);
                heldTasks.clear();
                held.forEach(this::execute);
            });
        }

        private void look(boolean withWorkers) {
            serve();
            List<WorkerDemand> list = null;
            if (withWorkers) {
                list = connected.stream()
                        .map(worker -> {
                            long[] count = served.computeIfAbsent(worker.id, id -> new long[1]);
                            count[0] += 10;
                            long failed = broken.contains(worker.version) ? count[0] : 0;
                            return new WorkerDemand(worker.id, STREAMS, 1, 1, count[0], failed, null, 0, null);
                        })
                        .toList();
            }
            double need = streams / Math.max(1, serving().size());
            double room =
                    connected.size() * STREAMS / (double) Math.max(1, serving().size());
            int busy = (int) Math.round(Math.min(need, room));
            int pending = (int) Math.ceil(Math.max(0, need - room));
            Demand demand = new Demand(
                    (long) arrived,
                    (long) completed,
                    (long) serviceNanos,
                    busy,
                    pending,
                    Demand.Tunnels.NONE,
                    0,
                    new ServiceTimes(),
                    list);
            Plan plan = controller.evaluate(
                    now(), demand, fleetFunction.view(controller.workers().ids()));
            carryOut(plan);
            fleetFunction.onEvaluated(controller.report(now(), plan));
        }

        private void carryOut(Plan plan) {
            plan.kills().forEach(kill -> kill(kill.workerId()));
            for (Plan.Launch launch : plan.launches()) {
                String id = fleetFunction.take();
                controller.onLaunched(now(), id, launch);
                launch(id, launch);
            }
            plan.drains().forEach(drain -> drain(drain.workerId()));
        }

        private long servedNanos = -1;

        private void serve() {
            if (servedNanos >= 0) {
                double seconds = (now() - servedNanos) / 1e9;
                double need = streams / Math.max(1, serving().size());
                double room = connected.size()
                        * STREAMS
                        / (double) Math.max(1, serving().size());
                arrived += need / SERVICE_SECONDS * seconds;
                completed += Math.min(need, room) / SERVICE_SECONDS * seconds;
                serviceNanos += Math.min(need, room) * seconds * 1e9;
            }
            servedNanos = now();
        }

        // Workers.

        /** Answers a worker that dials, as the registry of workers does: null = accepted. */
        @Nullable
        SlotState admit(SimulatedWorker worker) {
            Long expiry = launchedHere.get(worker.id);
            if (expiry != null) {
                return worker.everAdmitted || time.millis() < expiry ? null : SlotState.ENDED;
            }
            SlotState state = fleetFunction.slotState(worker.id);
            return state == SlotState.GRANTED ? null : state;
        }

        void onConnected(SimulatedWorker worker) {
            connected.add(worker);
            execute(() -> {
                controller.workers().onDialled(now(), worker.id, WorkerKind.LAUNCHED);
                long deadline =
                        worker.deadlineNanos == Long.MAX_VALUE ? Long.MAX_VALUE : worker.deadlineNanos - frozenNanos;
                carryOut(controller.onReady(now(), worker.id, STREAMS, deadline, worker.version));
                lookSoon();
            });
        }

        void onDisconnected(SimulatedWorker worker, boolean clean) {
            if (connected.remove(worker)) {
                boolean exitFollows = worker.launcher == this && !worker.reported;
                execute(() -> {
                    if (clean) {
                        if (!exitFollows) {
                            fleetFunction.onGoodbye(worker.id);
                        }
                        launchedHere.remove(worker.id);
                    }
                    controller.onDisconnected(now(), worker.id, clean);
                    lookSoon();
                });
            }
        }

        /** The launcher reports the end of a worker, once. */
        void onExit(SimulatedWorker worker, Cause cause) {
            if (!worker.reported) {
                worker.reported = true;
                execute(() -> {
                    launchedHere.remove(worker.id);
                    if (cause == Cause.LOST) {
                        fleetFunction.onLost(worker.id);
                    } else {
                        fleetFunction.onExit(worker.id);
                    }
                    controller.onExit(now(), worker.id, new WorkerExit(cause, "exit"));
                    fleetFunction.hold(controller.throttledNanos(now()));
                    lookSoon();
                });
            }
        }

        private void onPeers(List<String> addresses) {
            peers = addresses;
            connected.forEach(SimulatedWorker::dialAll);
        }

        private void lookSoon() {
            if (!looking) {
                looking = true;
                time.after(
                        SECOND / 50,
                        () -> execute(() -> {
                            looking = false;
                            look(false);
                        }));
            }
        }

        private void launch(String id, Plan.Launch launch) {
            invariants.onLaunch(this, id);
            launches++;
            launchedHere.put(id, time.millis() + LAUNCH_TIMEOUT.toMillis());
            SimulatedWorker worker = new SimulatedWorker(id, this);
            worker.downstreamShare = launch.downstreamShare();
            worker.version = launch.version().isEmpty() ? alias : launch.version();
            everLaunched.put(id, worker);
            if (time.nanos() < throttledUntilNanos) {
                note("launch " + id + " by " + member.id + " is throttled");
                worker.exitedNanos = time.nanos();
                time.after(SECOND / 20, () -> onExit(worker, Cause.THROTTLED));
                return;
            }
            note("launch " + id + " by " + member.id);
            // Some start so slowly that they have been given up.
            long slowest = random.nextInt(40) == 0 && slowStarts ? 40 * SECOND : 3 * SECOND;
            // A dispatcher can be paused between its decision and the call.
            execute(() -> time.after(random.nextLong(SECOND / 5, slowest), worker::start));
        }

        private void drain(String workerId) {
            connected.stream()
                    .filter(worker -> worker.id.equals(workerId))
                    .findFirst()
                    .ifPresent(SimulatedWorker::drain);
        }

        private void kill(String workerId) {
            if (!launchedHere.containsKey(workerId)) {
                controller.workers().onDisowned(now(), workerId);
                return;
            }
            SimulatedWorker worker = everLaunched.get(workerId);
            if (kind.local) {
                worker.crash();
            } else {
                worker.lose();
            }
        }

        @Override
        public void onChange() {
            lookSoon();
        }

        @Override
        public void onAdopted(String workerId) {
            note(member.id + " adopts " + workerId);
            controller.workers().onAdopted(workerId);
        }

        @Override
        public void onDisowned(String workerId) {
            controller.workers().onDisowned(now(), workerId);
        }

        @Override
        public void onReplaced(String workerId) {
            controller.workers().onExpiring(workerId);
        }

        @Override
        public void onEnded(String workerId) {
            carryOut(controller.onGivenUp(now(), workerId));
        }

        @Override
        public void onLaunching(boolean launching) {
            note(member.id + " launching " + launching);
            controller.setLaunching(launching);
        }
    }

    /** A worker that dials the dispatcher that launched it, then those that it is told of. */
    final class SimulatedWorker {
        final String id;
        final SimulatedDispatcher launcher;
        private final int zone = random.nextInt(2);
        /** The dispatchers that serve it, with the time of the connection. */
        final Map<SimulatedDispatcher, Long> connections = new LinkedHashMap<>();

        private final Set<SimulatedDispatcher> unreachable = new LinkedHashSet<>();
        String version = "";
        /** How many downstream connections it may open. */
        int downstreamShare;

        boolean everAdmitted;
        boolean everAdopted;
        long adoptedNanos;
        /** The owner that knows its end, because it has said goodbye. */
        @Nullable
        SimulatedDispatcher farewell;

        /** Whether its launcher does not know whether it runs. */
        boolean lost;

        boolean reported;
        boolean draining;
        long startedNanos;
        long deadlineNanos;
        long exitedNanos = -1;
        private Set<String> targets = new LinkedHashSet<>();
        private int balanced;
        private long aloneNanos;

        SimulatedWorker(String id, SimulatedDispatcher launcher) {
            this.id = id;
            this.launcher = launcher;
        }

        void start() {
            if (hasExited()) {
                return; // killed before it has started
            }
            startedNanos = time.nanos();
            aloneNanos = startedNanos;
            deadlineNanos = kind.local ? Long.MAX_VALUE : startedNanos + kind.life.toNanos();
            workers.put(id, this);
            invariants.checkDownstream();
            targets.add(launcher.address);
            if (!kind.local) {
                time.after(deadlineNanos - startedNanos, () -> exit(true, Cause.ENDED));
            }
            watch();
        }

        boolean hasExited() {
            return exitedNanos >= 0;
        }

        private void watch() {
            if (!hasExited()) {
                if (connections.isEmpty() && time.nanos() - aloneNanos > 10 * SECOND) {
                    exit(false, Cause.ENDED);
                } else {
                    dialAll();
                    time.after(kind.balanced && !everAdmitted ? SECOND / 10 : SECOND / 2, this::watch);
                }
            }
        }

        boolean reaches(SimulatedDispatcher to) {
            return !(partitioned && to.zone != zone) && !unreachable.contains(to);
        }

        /** Cuts the way to one dispatcher for some time. */
        void cutOff(SimulatedDispatcher from, long nanos) {
            note("cut off " + id + " from " + from.member.id);
            unreachable.add(from);
            time.after(PING_NANOS, SimulatedFleet.this::loseConnections);
            time.after(nanos, () -> unreachable.remove(from));
        }

        void dialAll() {
            if (hasExited() || draining) {
                return;
            }
            if (kind.balanced && !everAdmitted) {
                List<SimulatedDispatcher> all = serving();
                if (!all.isEmpty()) {
                    dialSoon(all.get(balanced++ % all.size()));
                }
                return;
            }
            if (!connections.isEmpty()) {
                targets = new LinkedHashSet<>();
                connections
                        .keySet()
                        .forEach(each -> targets.addAll(each.peers.isEmpty() ? List.of(each.address) : each.peers));
            }
            for (SimulatedDispatcher each : dispatchers) {
                if (targets.contains(each.address) && canDial(each)) {
                    dialSoon(each);
                }
            }
        }

        private boolean canDial(SimulatedDispatcher to) {
            return !connections.containsKey(to) && !to.killed && !to.left && !to.paused && reaches(to);
        }

        private void dialSoon(SimulatedDispatcher to) {
            time.after(SECOND / 1000, () -> dial(to));
        }

        private void dial(SimulatedDispatcher to) {
            if (hasExited() || draining || !canDial(to)) {
                return;
            }
            SlotState refusal = to.admit(this);
            if (refusal == null) {
                everAdmitted = true;
                connections.put(to, time.nanos());
                to.onConnected(this);
                invariants.checkAdmitted();
                dialAll();
            } else if (refusal == SlotState.ENDED) {
                exit(false, Cause.ENDED);
            }
        }

        void onLost(SimulatedDispatcher from) {
            if (connections.remove(from) != null) {
                from.onDisconnected(this, false);
                aloneNanos = time.nanos();
            }
        }

        void drain() {
            if (!draining && !hasExited()) {
                draining = true;
                note("drain " + id);
                // Requests last longer at one dispatcher than at another.
                long longestNanos = random.nextLong(2 * SECOND);
                connections.keySet().forEach(each -> time.after(random.nextLong(longestNanos + 1), () -> leave(each)));
                time.after(longestNanos, () -> exit(true, Cause.ENDED));
            }
        }

        private void leave(SimulatedDispatcher from) {
            if (connections.size() > 1 && connections.remove(from) != null) {
                note(id + " leaves " + from.member.id);
                from.onDisconnected(this, true);
            }
        }

        void crash() {
            note("crash " + id);
            exit(false, Cause.FAILED);
        }

        /** The launcher loses its connection to the platform. The worker runs on. */
        void lose() {
            note("lose " + id);
            lost = true;
            launcher.onExit(this, Cause.LOST);
        }

        private void exit(boolean clean, Cause cause) {
            if (!hasExited()) {
                exitedNanos = time.nanos();
                note("exit " + id);
                workers.remove(id);
                Slot slot = budget().slot(id);
                SimulatedDispatcher owner = slot == null ? null : dispatcher(slot.owner());
                // An owner that could not read the ledger may not know that it has adopted the
                // worker. Then its slot lasts until its end.
                boolean known = !everAdopted
                        || exitedNanos - adoptedNanos > PING_NANOS && owner != null && wellNanos(owner) > PING_NANOS;
                farewell = clean && known && connections.containsKey(owner) ? owner : null;
                List.copyOf(connections.keySet()).forEach(each -> each.onDisconnected(this, clean));
                connections.clear();
                launcher.onExit(this, cause);
            }
        }
    }
}
