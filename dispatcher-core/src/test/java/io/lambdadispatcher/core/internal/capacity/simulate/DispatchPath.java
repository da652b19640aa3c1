package io.lambdadispatcher.core.internal.capacity.simulate;

import io.lambdadispatcher.core.internal.capacity.CapacityController;
import io.lambdadispatcher.core.internal.capacity.Demand;
import io.lambdadispatcher.core.internal.capacity.FleetView;
import io.lambdadispatcher.core.internal.capacity.Plan;
import io.lambdadispatcher.core.internal.pool.Choice;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.ServiceTimes;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongPredicate;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The dispatcher in virtual time: the real {@link CapacityController} and the real choice among
 * workers, with simulated workers. It runs the controller in the same way as {@code
 * LaunchSupervisor}, but looks at a queue as long as there is one. There is one queue, as with one
 * event loop. The network and the dispatcher take no time. A request that is cut short is not
 * retried, although the dispatcher would retry it if that is safe.
 */
final class DispatchPath implements Path {
    private static final long TICK_NANOS = 1_000_000_000;
    private static final long GATHER_NANOS = 20_000_000;
    /** Time from dialling in to readiness. */
    private static final long HANDSHAKE_NANOS = 20_000_000;
    /** Time from the goodbye to the end of the invocation. */
    private static final long PARTING_NANOS = 50_000_000;

    /** Time until the pool prefers others to a worker that has stopped. */
    private static final long DOUBT_NANOS = 500_000_000;
    /** Time until the connection of a worker that has stopped is closed. */
    private static final long LOST_NANOS = 5_000_000_000L;

    private record Waiting(long sinceNanos, Caller caller) {}

    private record Serving(SimulatedWorker worker, long arrivedNanos, long nanos, Caller caller) {}

    private final EventQueue time;
    private final SimulationSettings settings;
    private final FunctionOptions function;
    private final RandomGenerator random;
    private final Durations service;
    private final Durations start;
    private final Durations warmStart;
    private final CapacityController controller;
    private final Choice<SimulatedWorker> launched = new Choice<>();
    private final Choice<SimulatedWorker> base = new Choice<>();
    private final Map<String, SimulatedWorker> workers = new LinkedHashMap<>();
    private final ArrayDeque<Waiting> waiting = new ArrayDeque<>();
    private final Set<Serving> serving = Collections.newSetFromMap(new IdentityHashMap<>());
    private final long queueTimeoutNanos;
    private final double contentionAbove;
    private boolean lookingSoon;
    private boolean expiryScheduled;

    // Totals for the controller.
    private long completed;
    private long serviceNanos;
    private int busy;
    private ServiceTimes recent = new ServiceTimes();

    private int baseStreams;
    private int baseBusy;
    /** When the base last had no room below its target. */
    private long baseFullNanos;

    long longestStartNanos;
    /** Whether a request that arrives at a time counts as calm. */
    LongPredicate isCalm = arrivedNanos -> false;

    private int running;
    private int named;
    private boolean counting;
    private long countingSinceNanos;

    final SimulationTally tally = new SimulationTally();
    final Timeline timeline = new Timeline();
    /** Times of all launches. */
    final List<Long> launchNanos = new ArrayList<>();

    DispatchPath(EventQueue time, SimulationSettings settings, RandomGenerator random) {
        this.time = time;
        this.settings = settings;
        this.function = settings.function();
        this.random = random;
        this.service = settings.workerService();
        this.start = settings.workerStart();
        this.warmStart = settings.warmStart();
        this.queueTimeoutNanos = function.queueTimeout().toNanos();
        this.contentionAbove = settings.get(SimulationSetting.CONTENTION_ABOVE);
        this.controller = new CapacityController(function, random);
        for (int i = 0; i < settings.count(SimulationSetting.BASE_WORKERS); i++) {
            addBase();
        }
        tick();
    }

    /** Counts cost and requests from now on. */
    void startCounting() {
        counting = true;
        countingSinceNanos = time.nowNanos();
    }

    /** Adds the cost of the workers that are still running, and stops counting. */
    void stopCounting() {
        workers.values().forEach(this::bill);
        counting = false;
    }

    // Requests.

    @Override
    public void onRequest(Caller caller) {
        tally.onArrival(time.nowNanos());
        SimulatedWorker worker = waiting.isEmpty() ? choose() : null;
        if (worker != null) {
            serve(worker, time.nowNanos(), caller);
        } else if (waiting.size() < function.queueLimit()) {
            waiting.addLast(new Waiting(time.nowNanos(), caller));
            scheduleExpiry();
            lookSoon();
        } else {
            tally.refused++;
            caller.onEnd(false);
        }
    }

    /** The base comes first until it has reached its target, then the least loaded worker. */
    private @Nullable SimulatedWorker choose() {
        SimulatedWorker first = base.least();
        SimulatedWorker other = launched.least();
        if (first == null || other == null) {
            return first == null ? other : first;
        }
        return hasBaseRoom() || first.busy <= other.busy ? first : other;
    }

    private boolean hasBaseRoom() {
        return baseBusy < function.capacity().targetUtilization() * baseStreams;
    }

    private void serve(SimulatedWorker worker, long arrivedNanos, Caller caller) {
        tally.onServed(time.nowNanos() - arrivedNanos);
        if (isCalm.test(arrivedNanos)) {
            tally.calmWait.recordValue(time.nowNanos() - arrivedNanos);
        }
        tally.servedByBase += worker.base ? 1 : 0;
        worker.onServing();
        busy++;
        baseBusy += worker.base ? 1 : 0;
        settle(worker);
        long nanos = (long) (service.draw(random) * stretch(worker));
        Serving one = new Serving(worker, arrivedNanos, nanos, caller);
        serving.add(one);
        time.after(nanos, () -> onServed(one));
    }

    /**
     * Returns the factor by which a request is slowed down. Requests up to the limit run at full
     * speed, and more requests share the processor. Later requests do not slow down earlier ones.
     */
    private double stretch(SimulatedWorker worker) {
        return contentionAbove == 0 ? 1 : Math.max(1, worker.busy / contentionAbove);
    }

    private void onServed(Serving one) {
        SimulatedWorker worker = one.worker;
        if (worker.stoppedUntilNanos - time.nowNanos() > 0) {
            time.at(worker.stoppedUntilNanos, () -> onServed(one));
            return;
        }
        if (!serving.remove(one)) {
            return; // Another worker has got it.
        }
        if (worker.gone) {
            // Already counted when the worker ended.
            one.caller.onEnd(false);
            return;
        }
        worker.onServed();
        busy--;
        baseBusy -= worker.base ? 1 : 0;
        completed++;
        serviceNanos += one.nanos;
        recent.record(one.nanos);
        tally.onAnswer(time.nowNanos(), time.nowNanos() - one.arrivedNanos);
        settle(worker);
        serveWaiting();
        one.caller.onEnd(true);
        endIfDrained(worker);
    }

    private void serveWaiting() {
        SimulatedWorker worker = choose();
        while (worker != null && !waiting.isEmpty()) {
            Waiting first = waiting.removeFirst();
            serve(worker, first.sinceNanos, first.caller);
            worker = choose();
        }
    }

    private void settle(SimulatedWorker worker) {
        Choice<SimulatedWorker> kind = worker.base ? base : launched;
        if (worker.hasRoom()) {
            kind.put(worker, worker.busy + (worker.doubted ? worker.streams : 0));
        } else {
            kind.remove(worker);
        }
        if (!hasBaseRoom()) {
            baseFullNanos = time.nowNanos();
        }
    }

    private void scheduleExpiry() {
        Waiting first = waiting.peekFirst();
        if (!expiryScheduled && first != null) {
            expiryScheduled = true;
            time.at(first.sinceNanos + queueTimeoutNanos, this::expire);
        }
    }

    private void expire() {
        expiryScheduled = false;
        List<Waiting> expired = new ArrayList<>();
        while (!waiting.isEmpty() && time.nowNanos() - waiting.peekFirst().sinceNanos >= queueTimeoutNanos) {
            expired.add(waiting.removeFirst());
        }
        tally.expired += expired.size();
        scheduleExpiry();
        expired.forEach(one -> one.caller.onEnd(false));
    }

    // Evaluations, as in the supervisor.

    private void tick() {
        look(true);
        time.after(TICK_NANOS, this::tick);
    }

    private void lookSoon() {
        if (!lookingSoon) {
            lookingSoon = true;
            time.after(GATHER_NANOS, () -> {
                lookingSoon = false;
                look(false);
            });
        }
    }

    private void look(boolean withWorkers) {
        long now = time.nowNanos();
        carryOut(controller.evaluate(now, sample(withWorkers), FleetView.ALONE));
        if (!waiting.isEmpty()) {
            lookSoon();
        }
        CapacitySnapshot status = controller.status(now, null);
        timeline.add(new Timeline.Look(
                counting ? (now - countingSinceNanos) / 1e9 : -1,
                status.desired(),
                status.starting(),
                status.ready(),
                status.draining(),
                busy,
                waiting.size(),
                tally.arrived));
    }

    private void carryOut(Plan plan) {
        for (Plan.Limit limit : plan.limits()) {
            SimulatedWorker worker = workers.get(limit.workerId());
            worker.limit = limit.exchanges();
            settle(worker);
            serveWaiting();
        }
        plan.kills().forEach(kill -> end(workers.get(kill.workerId()), Cause.FAILED, kill.reason()));
        for (Plan.Launch launch : plan.launches()) {
            SimulatedWorker worker =
                    new SimulatedWorker("worker-" + named++, time.nowNanos(), function.streamsPerWorker(), false);
            launch(worker);
            controller.onLaunched(time.nowNanos(), worker.id, launch);
        }
        plan.drains().forEach(drain -> drain(workers.get(drain.workerId()), drain.graceNanos()));
    }

    private Demand sample(boolean withWorkers) {
        ServiceTimes sinceLast = recent;
        recent = new ServiceTimes();
        return new Demand(
                tally.arrived,
                completed,
                serviceNanos,
                busy,
                waiting.size(),
                Demand.Tunnels.NONE,
                0,
                sinceLast,
                withWorkers
                        ? workers.values().stream()
                                .filter(worker -> worker.dialled)
                                .map(SimulatedWorker::sample)
                                .toList()
                        : null);
    }

    // The base.

    private SimulatedWorker addBase() {
        SimulatedWorker worker = new SimulatedWorker(
                "base-" + named++, time.nowNanos(), settings.count(SimulationSetting.BASE_STREAMS), true);
        workers.put(worker.id, worker);
        baseStreams += worker.streams;
        worker.dialled = true;
        worker.open = true;
        controller.workers().onDialled(time.nowNanos(), worker.id, WorkerKind.BASE);
        carryOut(controller.onReady(time.nowNanos(), worker.id, worker.streams, Long.MAX_VALUE, ""));
        settle(worker);
        return worker;
    }

    /** Adds workers to the base while the traffic runs. */
    void growBase(int count) {
        for (int i = 0; i < count; i++) {
            addBase();
        }
        lookSoon();
        serveWaiting();
    }

    /** All workers of the base end. Their requests are sent to other workers. */
    void loseBase() {
        for (SimulatedWorker worker : List.copyOf(workers.values())) {
            if (worker.base) {
                workers.remove(worker.id);
                baseStreams -= worker.streams;
                baseBusy -= worker.busy;
                lose(worker);
                worker.gone = true;
            }
        }
    }

    // Workers, from launch to end.

    private void launch(SimulatedWorker worker) {
        workers.put(worker.id, worker);
        launchNanos.add(time.nowNanos());
        tally.launchesWithRoom += baseStreams > 0 && time.nowNanos() - baseFullNanos > TICK_NANOS ? 1 : 0;
        if (counting) {
            tally.launches++;
            tally.invokes++;
        }
        time.after((long) (settings.get(SimulationSetting.LAUNCH_MILLIS) * 1e6), () -> onInvoked(worker));
    }

    private void onInvoked(SimulatedWorker worker) {
        if (worker.gone) {
            return;
        }
        if (running >= settings.accountLimit(counting ? time.nowNanos() - countingSinceNanos : 0)) {
            tally.launchThrottles += counting ? 1 : 0;
            end(worker, Cause.THROTTLED, "rate exceeded");
            return;
        }
        worker.startedNanos = time.nowNanos();
        running++;
        if (random.nextDouble() < settings.get(SimulationSetting.FAILURE_PROBABILITY)) {
            tally.launchFailures += counting ? 1 : 0;
            time.after(
                    settings.nanos(SimulationSetting.FAILURE_SECONDS),
                    () -> end(worker, Cause.FAILED, "function error"));
        } else {
            double warmProbability = settings.get(SimulationSetting.WARM_START_PROBABILITY);
            boolean warm = warmProbability > 0 && random.nextDouble() < warmProbability;
            long nanos = (warm ? warmStart : start).draw(random);
            longestStartNanos = Math.max(longestStartNanos, nanos);
            time.after(nanos, () -> onDialled(worker));
        }
    }

    private void onDialled(SimulatedWorker worker) {
        if (worker.gone) {
            return;
        }
        worker.dialled = true;
        controller.workers().onDialled(time.nowNanos(), worker.id, WorkerKind.LAUNCHED);
        // Lambda's timeout starts after initialisation.
        worker.deadlineNanos = time.nowNanos() + settings.nanos(SimulationSetting.DEADLINE_SECONDS);
        time.at(worker.deadlineNanos, () -> end(worker, Cause.FAILED, "timed out"));
        time.after(HANDSHAKE_NANOS, () -> onReady(worker));
    }

    private void onReady(SimulatedWorker worker) {
        if (worker.gone) {
            return;
        }
        worker.open = true;
        settle(worker);
        carryOut(controller.onReady(time.nowNanos(), worker.id, worker.streams, worker.deadlineNanos, ""));
        lookSoon();
        serveWaiting();
    }

    private void drain(SimulatedWorker worker, long graceNanos) {
        worker.open = false;
        settle(worker);
        endIfDrained(worker);
        time.after(graceNanos, () -> end(worker, Cause.ENDED, "drained, but not in time"));
    }

    private void endIfDrained(SimulatedWorker worker) {
        if (worker.dialled && !worker.open && worker.busy == 0 && !worker.gone) {
            time.after(PARTING_NANOS, () -> end(worker, Cause.ENDED, "drained"));
        }
    }

    private void end(SimulatedWorker worker, Cause cause, String detail) {
        if (worker.gone) {
            return;
        }
        worker.open = false;
        worker.gone = true;
        settle(worker);
        tally.cut += worker.busy;
        busy -= worker.busy;
        bill(worker);
        running -= worker.startedNanos >= 0 ? 1 : 0;
        workers.remove(worker.id);
        if (worker.dialled) {
            controller.onDisconnected(time.nowNanos(), worker.id, cause == Cause.ENDED);
        }
        controller.onExit(time.nowNanos(), worker.id, new WorkerExit(cause, detail));
        lookSoon();
    }

    /** One of the workers that serve stops for a time, as a process does after SIGSTOP. */
    void stop(long nanos) {
        SimulatedWorker worker =
                workers.values().stream().filter(each -> each.open).findFirst().orElseThrow();
        worker.stoppedUntilNanos = time.nowNanos() + nanos;
        time.after(DOUBT_NANOS, () -> {
            worker.doubted = true;
            settle(worker);
        });
        time.after(LOST_NANOS, () -> lose(worker));
        time.after(nanos, () -> onDialled(worker));
    }

    /** Its requests are sent to other workers. */
    private void lose(SimulatedWorker worker) {
        worker.open = false;
        worker.dialled = false;
        worker.doubted = false;
        for (Serving one : List.copyOf(serving)) {
            if (one.worker == worker) {
                serving.remove(one);
                worker.busy--;
                busy--;
                waiting.addFirst(new Waiting(one.arrivedNanos, one.caller));
            }
        }
        settle(worker);
        controller.onDisconnected(time.nowNanos(), worker.id, false);
        lookSoon();
        serveWaiting();
    }

    private void bill(SimulatedWorker worker) {
        if (counting && worker.startedNanos >= 0) {
            long from = Math.max(countingSinceNanos, worker.startedNanos);
            tally.gbSeconds += settings.get(SimulationSetting.MEGABYTES) / 1024 * (time.nowNanos() - from) / 1e9;
        }
    }
}
