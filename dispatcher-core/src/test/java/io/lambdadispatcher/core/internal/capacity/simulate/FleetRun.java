package io.lambdadispatcher.core.internal.capacity.simulate;

import io.lambdadispatcher.core.internal.capacity.CapacityController;
import io.lambdadispatcher.core.internal.capacity.Demand;
import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.internal.capacity.FleetView;
import io.lambdadispatcher.core.internal.capacity.Plan;
import io.lambdadispatcher.core.observe.ServiceTimes;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A fleet of dispatchers with one base in virtual time: each has the real {@link
 * CapacityController}. A balancer gives each the next request. A dispatcher knows its own requests
 * at once. It learns that a worker has no room when a request is refused there, and what the others
 * need once a second. The ledger grants each launch, and all see it at once.
 */
final class FleetRun {
    static final long SECOND = 1_000_000_000;
    private static final long GATHER_NANOS = 20_000_000;
    private static final long START_NANOS = 1_600_000_000;
    private static final int BASE_WORKERS = 2;

    final EventQueue time = new EventQueue();
    /** Times of all launches. */
    final List<Long> launchNanos = new ArrayList<>();
    /** The mean number of requests on the base in each second. */
    final List<Double> baseBusy = new ArrayList<>();

    /** When a request began to wait first, since it was set to 0. */
    long firstWaitNanos;

    /** How many workers were drained. */
    int drained;

    private final FunctionOptions function;
    private final RandomGenerator random;
    private final List<Member> members = new ArrayList<>();
    private final Map<String, Worker> workers = new LinkedHashMap<>();
    private final int baseStreams;
    private int turn;
    private int named;
    private double baseNanos;
    private long changedNanos;

    FleetRun(int dispatchers, int baseStreams, long seed) {
        this.baseStreams = baseStreams;
        this.random = new SplittableRandom(seed);
        this.function =
                BurstRun.settings(BASE_WORKERS, baseStreams / BASE_WORKERS).function();
        for (int i = 0; i < dispatchers; i++) {
            members.add(new Member());
        }
        for (int i = 0; i < BASE_WORKERS; i++) {
            Worker worker = new Worker("base-" + i, null, baseStreams / BASE_WORKERS);
            workers.put(worker.id, worker);
            connect(worker);
        }
        members.forEach(member -> time.after(random.nextLong(SECOND), member::tick));
        time.after(SECOND, this::second);
    }

    private void second() {
        change(0);
        baseBusy.add(baseNanos / SECOND);
        baseNanos = 0;
        time.after(SECOND, this::second);
    }

    private void change(int by) {
        int busy = workers.values().stream()
                .filter(worker -> worker.owner == null)
                .mapToInt(worker -> worker.streams - worker.free)
                .sum();
        baseNanos += (double) (busy - by) * (time.nowNanos() - changedNanos);
        changedNanos = time.nowNanos();
    }

    void run(double seconds) {
        time.runUntil(time.nowNanos() + (long) (seconds * SECOND));
    }

    /** Requests arrive at random. Each takes an exponential time of 200 ms in the mean. */
    void traffic(double perSecond, double seconds) {
        double end = time.nowNanos() + seconds * SECOND;
        double at = time.nowNanos();
        while ((at += random.nextExponential() * SECOND / perSecond) < end) {
            time.at((long) at, () -> send((long) (SECOND / 5 * random.nextExponential())));
        }
    }

    /** Requests of 200 ms arrive in equal distances. */
    void evenTraffic(double perSecond, double seconds) {
        for (int i = 0; i < perSecond * seconds; i++) {
            time.after((long) (i * SECOND / perSecond), () -> send(SECOND / 5));
        }
    }

    /** Sends one request to the next dispatcher. */
    void send(long nanos) {
        members.get(turn++ % members.size()).onRequest(nanos);
    }

    private void connect(Worker worker) {
        for (Member member : members) {
            WorkerKind kind = worker.owner == null ? WorkerKind.BASE : WorkerKind.LAUNCHED;
            member.controller.workers().onDialled(time.nowNanos(), worker.id, kind);
            member.carryOut(member.controller.onReady(time.nowNanos(), worker.id, worker.streams, Long.MAX_VALUE, ""));
        }
        worker.open = true;
        worker.serveWaiting();
    }

    /** A worker that all dispatchers share. A slot goes to the waiting one that has fewest. */
    private final class Worker {
        final String id;
        /** Who has launched it; {@code null} = it is of the base. */
        final @Nullable Member owner;

        final int streams;
        final Map<Member, Integer> held = new HashMap<>();
        int free;
        boolean open;

        Worker(String id, @Nullable Member owner, int streams) {
            this.id = id;
            this.owner = owner;
            this.streams = streams;
            this.free = streams;
        }

        int busy(Member member) {
            return held.getOrDefault(member, 0);
        }

        void serve(Member member, long nanos) {
            free--;
            change(owner == null ? 1 : 0);
            held.merge(member, 1, Integer::sum);
            time.after(nanos, () -> {
                free++;
                change(owner == null ? -1 : 0);
                held.merge(member, -1, Integer::sum);
                member.onServed(nanos);
                serveWaiting();
                endIfDrained();
            });
        }

        void serveWaiting() {
            while (open && free > 0) {
                Member next = members.stream()
                        .filter(member -> !member.waiting.isEmpty())
                        .min(Comparator.comparing(this::busy))
                        .orElse(null);
                if (next == null) {
                    return;
                }
                next.serveNext(this);
            }
        }

        void endIfDrained() {
            if (!open && free == streams && owner != null && workers.remove(id) != null) {
                members.forEach(member -> member.controller.onDisconnected(time.nowNanos(), id, true));
                owner.controller.onExit(time.nowNanos(), id, new WorkerExit(Cause.ENDED, "drained"));
            }
        }
    }

    private final class Member {
        final CapacityController controller = new CapacityController(function, new SplittableRandom(random.nextLong()));
        final Deque<Long> waiting = new ArrayDeque<>();
        private ServiceTimes recent = new ServiceTimes();
        private long arrived;
        private long completed;
        private long serviceNanos;
        private int busy;
        private boolean lookingSoon;
        /** What it has told the others at its last beat. */
        private double told;

        void onRequest(long nanos) {
            arrived++;
            waiting.add(nanos);
            Worker worker = waiting.size() == 1 ? choose() : null;
            if (worker != null) {
                serveNext(worker);
            } else {
                firstWaitNanos = firstWaitNanos == 0 ? time.nowNanos() : firstWaitNanos;
                lookSoon();
            }
        }

        /** The base comes first until it has reached its target, then the least loaded worker. */
        private @Nullable Worker choose() {
            int onBase = workers.values().stream()
                    .filter(worker -> worker.owner == null)
                    .mapToInt(worker -> worker.busy(this))
                    .sum();
            boolean baseFirst = onBase < function.capacity().targetUtilization() * baseStreams;
            return workers.values().stream()
                    .filter(worker -> worker.open && worker.free > 0)
                    .min(Comparator.comparingInt(
                            worker -> (baseFirst && worker.owner != null ? 10_000 : 0) + worker.busy(this)))
                    .orElse(null);
        }

        void serveNext(Worker worker) {
            busy++;
            worker.serve(this, waiting.remove());
        }

        void onServed(long nanos) {
            busy--;
            completed++;
            serviceNanos += nanos;
            recent.record(nanos);
        }

        void tick() {
            Plan plan = look(true);
            told = controller.report(time.nowNanos(), plan).streams();
            time.after(SECOND, this::tick);
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

        private Plan look(boolean withWorkers) {
            double others = members.stream()
                    .filter(member -> member != this)
                    .mapToDouble(member -> member.told)
                    .sum();
            int elsewhere = (int) workers.keySet().stream()
                    .filter(id -> !controller.workers().ids().contains(id))
                    .count();
            boolean mayScaleIn = time.nowNanos() / SECOND % members.size() == members.indexOf(this);
            FleetView view = new FleetView(others, elsewhere, mayScaleIn, true, true, Integer.MAX_VALUE, null);
            Plan plan = controller.evaluate(time.nowNanos(), sample(withWorkers), view);
            carryOut(plan);
            if (!waiting.isEmpty()) {
                lookSoon();
            }
            return plan;
        }

        private Demand sample(boolean withWorkers) {
            ServiceTimes sinceLast = recent;
            recent = new ServiceTimes();
            List<WorkerDemand> demands = !withWorkers
                    ? null
                    : workers.values().stream()
                            .filter(worker -> worker.open)
                            .map(worker -> new WorkerDemand(
                                    worker.id,
                                    worker.streams,
                                    worker.busy(this),
                                    worker.busy(this),
                                    0,
                                    0,
                                    null,
                                    0,
                                    null))
                            .toList();
            return new Demand(
                    arrived,
                    completed,
                    serviceNanos,
                    busy,
                    waiting.size(),
                    Demand.Tunnels.NONE,
                    taken(),
                    sinceLast,
                    demands);
        }

        /** Workers without room have refused what waits. */
        private int taken() {
            return waiting.isEmpty()
                    ? 0
                    : workers.values().stream()
                            .filter(worker -> worker.open && worker.free == 0)
                            .mapToInt(worker -> worker.streams - worker.busy(this))
                            .sum();
        }

        void carryOut(Plan plan) {
            for (Plan.Launch launch : plan.launches()) {
                Worker worker = new Worker("worker-" + named++, this, function.streamsPerWorker());
                workers.put(worker.id, worker);
                launchNanos.add(time.nowNanos());
                controller.onLaunched(time.nowNanos(), worker.id, launch);
                time.after(START_NANOS, () -> connect(worker));
            }
            drained += plan.drains().size();
            for (Plan.Drain drain : plan.drains()) {
                Worker worker = workers.get(drain.workerId());
                worker.open = false;
                members.forEach(
                        member -> member.controller.workers().onDraining(time.nowNanos(), worker.id, "it is drained"));
                worker.endIfDrained();
            }
        }
    }
}
