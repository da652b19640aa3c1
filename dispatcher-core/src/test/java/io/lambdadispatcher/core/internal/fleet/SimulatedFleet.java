package io.lambdadispatcher.core.internal.fleet;

import io.lambdadispatcher.core.internal.capacity.CapacityController;
import io.lambdadispatcher.core.internal.capacity.Demand;
import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.internal.capacity.ServiceTimes;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
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
 * event that could exceed a limit, the limits are checked.
 */
final class SimulatedFleet {
    static final long SECOND = 1_000_000_000;
    private static final double SERVICE_SECONDS = 0.1;
    private static final int STREAMS = 10;
    private static final int MEGABYTES = 1024;

    final VirtualTime time = new VirtualTime();
    final SimulatedLedger.Store store = new SimulatedLedger.Store();
    final SplittableRandom random;
    final List<SimulatedDispatcher> dispatchers = new ArrayList<>();
    final Map<String, SimulatedWorker> workers = new LinkedHashMap<>();
    final List<SimulatedWorker> exited = new ArrayList<>();
    final List<String> events = new ArrayList<>();
    final int maxWorkers;
    final double gbSecondsPerHour;
    final FunctionOptions function;
    /** Streams that the clients of the fleet need. */
    double streams;

    /** The version that the launchers of all dispatchers name; empty = none. */
    String alias = "";

    /** Versions whose workers fail all requests. */
    final Set<String> broken = new HashSet<>();

    private Budget budget = new Budget();
    private long budgetVersion;
    int launches;

    /** Whether a few workers take longer to start than the launch timeout. */
    boolean slowStarts = true;

    SimulatedFleet(long seed, int maxWorkers, double gbSecondsPerHour, Duration life) {
        this.random = new SplittableRandom(seed);
        this.maxWorkers = maxWorkers;
        this.gbSecondsPerHour = gbSecondsPerHour;
        this.function = FunctionOptions.builder("f")
                .streamsPerConnection(STREAMS)
                .capacity(CapacityPolicy.builder()
                        .workers(0, maxWorkers)
                        .idleAfter(Duration.ofSeconds(20))
                        .scaleInAfter(Duration.ofSeconds(5))
                        .maxWorkerAge(life)
                        .build())
                .launching(LaunchLimits.builder()
                        .gbSecondsPerHour(gbSecondsPerHour)
                        .workerMegabytes(MEGABYTES)
                        .launchTimeout(Duration.ofSeconds(15))
                        .build())
                .build();
        store.onWrite = this::checkGranted;
    }

    void note(String event) {
        events.add("%.3f %s".formatted(time.nanos() / 1e9, event));
    }

    SimulatedDispatcher start() {
        SimulatedDispatcher dispatcher = new SimulatedDispatcher();
        dispatchers.add(dispatcher);
        note("start " + dispatcher.member.id);
        dispatcher.start();
        return dispatcher;
    }

    List<SimulatedDispatcher> serving() {
        return dispatchers.stream()
                .filter(each -> !each.killed && !each.left && !each.paused)
                .toList();
    }

    Budget budget() {
        Ledger.Entry entry = store.entries.get("function/f");
        if (entry != null && entry.version() != budgetVersion && !entry.value().isEmpty()) {
            budget = Budget.parse(entry.value());
            budgetVersion = entry.version();
        }
        return budget;
    }

    // What must hold in every state.

    void fail(String problem) {
        throw new AssertionError(problem + "\n"
                + String.join("\n", events.subList(Math.max(0, events.size() - 60), events.size())));
    }

    private void checkGranted() {
        Budget now = budget();
        if (now.workers() > maxWorkers) {
            fail("granted " + now.workers() + " of " + maxWorkers);
        }
        if (now.slots().size() > 2 * maxWorkers) {
            fail("granted in all " + now.slots().size() + " of twice " + maxWorkers);
        }
    }

    void checkAdmitted() {
        Budget now = budget();
        int all = 0;
        int lasting = 0;
        for (SimulatedWorker worker : workers.values()) {
            if (worker.connections.isEmpty()) {
                continue;
            }
            all++;
            Slot slot = now.slot(worker.id);
            lasting += slot != null && slot.replaced() ? 0 : 1;
        }
        if (lasting > maxWorkers) {
            fail("admitted " + lasting + " of " + maxWorkers + ": " + admitted());
        }
        if (all > 2 * maxWorkers) {
            fail("admitted in all " + all + " of twice " + maxWorkers);
        }
    }

    private String admitted() {
        StringBuilder text = new StringBuilder();
        for (SimulatedWorker worker : workers.values()) {
            text.append("\n").append(worker.id).append(" started ").append(worker.startedNanos / 1e9);
            worker.connections.forEach(each -> text.append(" at ").append(each.member.id));
            text.append(" slot ").append(budget().slot(worker.id));
        }
        return text.toString();
    }

    /** Compares the running time of all admitted workers in each 60 minutes with the limit. */
    void checkSpending() {
        if (gbSecondsPerHour == 0) {
            return;
        }
        List<SimulatedWorker> all = new ArrayList<>(exited);
        all.addAll(workers.values());
        all.removeIf(worker -> !worker.everAdmitted);
        for (long end = 0; end <= time.nanos(); end += 30 * SECOND) {
            double sum = 0;
            for (SimulatedWorker worker : all) {
                long until = Math.min(worker.exitedNanos < 0 ? time.nanos() : worker.exitedNanos, end);
                sum += Math.max(0, until - Math.max(worker.startedNanos, end - 3600 * SECOND)) / 1e9;
            }
            if (sum > gbSecondsPerHour) {
                fail("spent " + sum + " of " + gbSecondsPerHour + " GB-seconds in the hour until " + end / SECOND);
            }
        }
    }

    /** Returns whether the workers that serve or start are enough for the clients. */
    boolean isDemandMet() {
        long ready = workers.values().stream()
                .filter(worker -> worker.connections.stream().anyMatch(each -> !each.killed && !each.left))
                .filter(worker -> !worker.draining)
                .count();
        return ready * STREAMS >= streams;
    }

    boolean areSlotsFree() {
        return budget().obstacle(time.millis(), BudgetLimits.of(function)) == null;
    }

    /** One dispatcher, with the real controller and the real member of the fleet. */
    final class SimulatedDispatcher implements CapacityController.Actions, FunctionShare.Listener {
        final SimulatedLedger ledger = new SimulatedLedger(store, time, random.split());
        private final ArrayDeque<Runnable> heldTasks = new ArrayDeque<>();
        final FleetMember member;
        final FunctionShare share;
        final CapacityController controller;
        final Set<SimulatedWorker> connected = new LinkedHashSet<>();
        private final Map<String, Long> launchedHere = new HashMap<>();
        private final Map<String, long[]> served = new HashMap<>();
        List<String> peers = List.of();
        boolean killed;
        boolean left;
        boolean paused;
        private boolean looking;
        private double arrived;
        private double completed;
        private double serviceNanos;

        SimulatedDispatcher() {
            member = new FleetMember(
                    ledger,
                    this::execute,
                    new FleetTime() {
                        @Override
                        public long nanos() {
                            return time.nanos();
                        }

                        @Override
                        public long millis() {
                            return time.millis();
                        }
                    },
                    random.split(),
                    this::onPeers);
            member.describe(new FleetMember.MemberDescription(List.of(member.id), "", "1"));
            share = member.add("f", BudgetLimits.of(function), this);
            controller = new CapacityController(function, this, random.split());
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
            if (!killed && !left) {
                time.after(SECOND, this::tick);
            }
        }

        private void everySecond() {
            execute(() -> {
                if (share.isFirst()) {
                    controller.onVersion(alias);
                }
                look(true);
            });
            if (!killed && !left) {
                time.after(SECOND, this::everySecond);
            }
        }

        void kill() {
            note("kill " + member.id);
            killed = true;
            List.copyOf(connected).forEach(worker -> worker.onLost(this));
        }

        /** Ends as at SIGTERM: it leaves the fleet, and its workers stay with the others. */
        void leave() {
            note("leave " + member.id);
            left = true;
            execute(() -> {
                controller.close();
                member.leave();
            });
            time.after(SECOND, () -> List.copyOf(connected).forEach(worker -> worker.onLost(this)));
            time.after(3 * SECOND, () -> killed = true);
        }

        void pause(long nanos) {
            note("pause " + member.id + " for " + nanos / SECOND + " s");
            paused = true;
            // Workers notice that their pings are not answered.
            if (nanos > 5 * SECOND) {
                time.after(5 * SECOND, () -> List.copyOf(connected).forEach(worker -> worker.onLost(this)));
            }
            time.after(nanos, () -> {
                paused = false;
                note("continue " + member.id);
                List<Runnable> held = List.copyOf(heldTasks);
                heldTasks.clear();
                held.forEach(this::execute);
            });
        }

        private void look(boolean withWorkers) {
            if (left) {
                return;
            }
            serve();
            List<WorkerDemand> list = null;
            if (withWorkers) {
                list = connected.stream()
                        .map(worker -> {
                            long[] count = served.computeIfAbsent(worker.id, id -> new long[1]);
                            count[0] += 10;
                            long failed = broken.contains(worker.version) ? count[0] : 0;
                            return new WorkerDemand(
                                    worker.id, 1, 1, count[0], failed, count[0], count[0] * 100_000_000L);
                        })
                        .toList();
            }
            double need = streams / Math.max(1, serving().size());
            double room =
                    connected.size() * STREAMS / (double) Math.max(1, serving().size());
            int busy = (int) Math.round(Math.min(need, room));
            int pending = (int) Math.ceil(Math.max(0, need - room));
            Demand demand = new Demand(
                    (long) arrived, (long) completed, (long) serviceNanos, busy, pending, new ServiceTimes(), list);
            controller.evaluate(time.nanos(), demand, share.beforeEvaluation(controller));
            share.afterEvaluation(controller, time.nanos());
        }

        private long servedNanos = -1;

        private void serve() {
            if (servedNanos >= 0) {
                double seconds = (time.nanos() - servedNanos) / 1e9;
                double need = streams / Math.max(1, serving().size());
                double room = connected.size()
                        * STREAMS
                        / (double) Math.max(1, serving().size());
                arrived += need / SERVICE_SECONDS * seconds;
                completed += Math.min(need, room) / SERVICE_SECONDS * seconds;
                serviceNanos += Math.min(need, room) * seconds * 1e9;
            }
            servedNanos = time.nanos();
        }

        // Workers.

        /** Answers a worker that dials: null = accepted. */
        @Nullable
        SlotState admit(SimulatedWorker worker) {
            Long expiry = launchedHere.get(worker.id);
            if (expiry != null) {
                return worker.everAdmitted || time.millis() < expiry ? null : SlotState.ENDED;
            }
            SlotState state = share.slotState(worker.id);
            return state == SlotState.GRANTED ? null : state;
        }

        void onConnected(SimulatedWorker worker) {
            connected.add(worker);
            execute(() -> {
                controller.onDialled(time.nanos(), worker.id);
                controller.onReady(time.nanos(), worker.id, worker.deadlineNanos, worker.version);
                lookSoon();
            });
        }

        void onDisconnected(SimulatedWorker worker, boolean clean) {
            if (connected.remove(worker)) {
                execute(() -> {
                    if (clean) {
                        share.onGoodbye(worker.id);
                        launchedHere.remove(worker.id);
                    }
                    controller.onDisconnected(time.nanos(), worker.id, clean);
                    lookSoon();
                });
            }
        }

        void onExit(SimulatedWorker worker, boolean failed) {
            execute(() -> {
                launchedHere.remove(worker.id);
                controller.onExit(time.nanos(), worker.id, new WorkerExit(failed ? Cause.FAILED : Cause.ENDED, "exit"));
                lookSoon();
            });
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

        @Override
        public int launchable(int count) {
            return share.launchable(count);
        }

        @Override
        public String launch(String version) {
            String id = share.take();
            launches++;
            launchedHere.put(
                    id, time.millis() + function.launching().launchTimeout().toMillis());
            // A dispatcher can be paused between its decision and the call.
            SimulatedWorker worker = new SimulatedWorker(id, this);
            worker.version = version.isEmpty() ? alias : version;
            note("launch " + id + " by " + member.id);
            // Some start so slowly that they have been given up.
            long slowest = random.nextInt(40) == 0 && slowStarts ? 40 * SECOND : 3 * SECOND;
            execute(() -> time.after(random.nextLong(SECOND / 5, slowest), worker::start));
            return id;
        }

        @Override
        public void drain(String workerId, DrainCode reason, long graceNanos) {
            connected.stream()
                    .filter(worker -> worker.id.equals(workerId))
                    .findFirst()
                    .ifPresent(SimulatedWorker::drain);
        }

        @Override
        public void kill(String workerId, String reason) {
            SimulatedWorker worker = workers.get(workerId);
            if (launchedHere.containsKey(workerId)) {
                if (worker != null) {
                    worker.crash();
                } else {
                    execute(() -> controller.onExit(time.nanos(), workerId, new WorkerExit(Cause.FAILED, "killed")));
                }
                launchedHere.remove(workerId);
            } else {
                execute(() -> controller.onDisowned(time.nanos(), workerId));
            }
        }

        @Override
        public void limit(String workerId, int exchanges, String reason) {}

        @Override
        public void onChange() {
            lookSoon();
        }

        @Override
        public void onAdopted(String workerId) {
            note(member.id + " adopts " + workerId);
            controller.onAdopted(workerId);
        }

        @Override
        public void onDisowned(String workerId) {
            controller.onDisowned(time.nanos(), workerId);
        }

        @Override
        public void onReplaced(String workerId) {
            controller.onExpiring(workerId);
        }

        @Override
        public void onEnded(String workerId) {
            controller.onGivenUp(time.nanos(), workerId);
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
        private final SimulatedDispatcher launcher;
        final Set<SimulatedDispatcher> connections = new LinkedHashSet<>();
        String version = "";
        boolean everAdmitted;
        boolean draining;
        long startedNanos;
        long deadlineNanos;
        long exitedNanos = -1;
        private Set<String> targets = new LinkedHashSet<>();
        private long aloneNanos;

        SimulatedWorker(String id, SimulatedDispatcher launcher) {
            this.id = id;
            this.launcher = launcher;
        }

        void start() {
            startedNanos = time.nanos();
            aloneNanos = startedNanos;
            deadlineNanos = startedNanos + function.capacity().maxWorkerAge().toNanos();
            workers.put(id, this);
            targets.add(launcher.member.id);
            dialAll();
            time.after(deadlineNanos - startedNanos, () -> exit(true, true));
            watch();
        }

        private boolean hasExited() {
            return exitedNanos >= 0;
        }

        private void watch() {
            if (!hasExited()) {
                if (connections.isEmpty() && time.nanos() - aloneNanos > 10 * SECOND) {
                    exit(false, false);
                } else {
                    dialAll();
                    time.after(SECOND / 2, this::watch);
                }
            }
        }

        void dialAll() {
            if (hasExited() || draining) {
                return;
            }
            if (!connections.isEmpty()) {
                targets = new LinkedHashSet<>();
                connections.forEach(
                        each -> targets.addAll(each.peers.isEmpty() ? List.of(each.member.id) : each.peers));
            }
            for (SimulatedDispatcher each : dispatchers) {
                if (targets.contains(each.member.id)
                        && !connections.contains(each)
                        && !each.killed
                        && !each.left
                        && !each.paused) {
                    time.after(SECOND / 1000, () -> dial(each));
                }
            }
        }

        private void dial(SimulatedDispatcher to) {
            if (hasExited() || draining || connections.contains(to) || to.killed || to.left || to.paused) {
                return;
            }
            SlotState refusal = to.admit(this);
            if (refusal == null) {
                everAdmitted = true;
                connections.add(to);
                to.onConnected(this);
                checkAdmitted();
                dialAll();
            } else if (refusal == SlotState.ENDED) {
                exit(false, false);
            }
        }

        void onLost(SimulatedDispatcher from) {
            if (connections.remove(from)) {
                from.onDisconnected(this, false);
                aloneNanos = time.nanos();
            }
        }

        void drain() {
            if (!draining && !hasExited()) {
                draining = true;
                note("drain " + id);
                time.after(random.nextLong(2 * SECOND), () -> exit(true, false));
            }
        }

        void crash() {
            note("crash " + id);
            exit(false, true);
        }

        private void exit(boolean clean, boolean failed) {
            if (!hasExited()) {
                exitedNanos = time.nanos();
                note("exit " + id);
                workers.remove(id);
                exited.add(this);
                List.copyOf(connections).forEach(each -> each.onDisconnected(this, clean));
                connections.clear();
                launcher.onExit(this, failed && !clean);
            }
        }
    }
}
