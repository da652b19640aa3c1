package io.lambdadispatcher.core.internal.capacity;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.observe.ServiceTimes;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.DownstreamBudget;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * Random lives of one function in virtual time: traffic rises and falls, workers start late, fail,
 * are lost, lose their connections, take long to drain or do not end at all, versions change,
 * workers are recycled, and the limits are changed. After each event, no limit is exceeded: the
 * connections that all running workers may have, twice the maximum of workers, launches of a
 * minute, and the GB-seconds of an hour.
 */
class LimitsPropertyTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final int RUNS = Integer.getInteger("limits.runs", 150);

    @Test
    void should_exceed_no_limit_whatever_workers_do() {
        int launches = 0;
        int replaced = 0;
        for (int seed = 0; seed < RUNS; seed++) {
            Run run = new Run(seed);
            try {
                run.live();
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
            }
            launches += run.named;
            replaced += run.replaced;
        }
        assertThat(launches).as("launches").isGreaterThan(20 * RUNS);
        assertThat(replaced)
                .as("workers that were replaced while others served")
                .isGreaterThan(RUNS);
    }

    private static final class Event implements Comparable<Event> {
        final long atNanos;
        final long number;
        final Runnable action;

        Event(long atNanos, long number, Runnable action) {
            this.atNanos = atNanos;
            this.number = number;
            this.action = action;
        }

        @Override
        public int compareTo(Event other) {
            int byTime = Long.compare(atNanos, other.atNanos);
            return byTime == 0 ? Long.compare(number, other.number) : byTime;
        }
    }

    /** Limits that have been changed. */
    private record Earlier(int connections, int workers, long untilNanos) {}

    /** One worker, as it is, not as the controller believes. */
    private static final class Worker {
        final String id;
        /** Whether its handler listens, so that it reports its share. */
        final boolean listens;

        final long endNanos;

        int connections;
        int told;
        boolean connected;
        boolean draining;
        boolean reported;

        Worker(String id, int connections, boolean listens, long endNanos) {
            this.id = id;
            this.connections = connections;
            this.listens = listens;
            this.endNanos = endNanos;
        }
    }

    private static final class Run {
        private final SplittableRandom random;
        private final PriorityQueue<Event> events = new PriorityQueue<>();
        private final Map<String, Worker> running = new LinkedHashMap<>();
        private final boolean allListen;
        private final boolean calm;
        /** Whether requests last until their worker ends. */
        private final boolean stubborn;

        private final long life;
        /** 0 = none. Otherwise, it has room for a minute of each worker, or more. */
        private final double ceilingSeconds;

        private final int launchesPerMinute;
        private final List<Long> launchNanos = new ArrayList<>();
        private double spentSeconds;
        private CapacityPolicy policy;
        private final CapacityController controller;
        private long now = 5 * SECOND;
        private long numbers;
        private int wantedStreams;
        private boolean settling;
        private final List<Earlier> limits = new ArrayList<>();
        private long servedNanos;
        int named;
        int replaced;

        Run(int seed) {
            random = new SplittableRandom(seed);
            allListen = random.nextBoolean();
            calm = random.nextInt(3) == 0;
            stubborn = random.nextBoolean();
            life = (random.nextBoolean() ? 120 : 900) * SECOND;
            ceilingSeconds = random.nextBoolean() ? random.nextDouble(2400, 12_000) : 0;
            launchesPerMinute = random.nextBoolean() ? 1000 : random.nextInt(5, 60);
            policy = policy();
            controller = new CapacityController(function(), new Random(seed));
            if (random.nextBoolean()) {
                controller.rollout().onNamed(new NamedVersion("1", "", ""));
            }
        }

        private CapacityPolicy policy() {
            int perWorker = random.nextInt(1, 6);
            int min = random.nextInt(0, 4);
            int max = random.nextInt(Math.max(1, min), 40);
            int least = (int) DownstreamBudget.least(perWorker, min);
            return CapacityPolicy.builder()
                    .workers(min, max)
                    .idleTimeout(Duration.ofSeconds(20))
                    .scaleDownDelay(Duration.ofSeconds(5))
                    .maxWorkerAge(Duration.ofSeconds(120))
                    .downstreamConnections(random.nextInt(least, least + 150), perWorker)
                    .build();
        }

        private FunctionOptions function() {
            return FunctionOptions.builder("f")
                    .streamsPerConnection(10)
                    .capacity(policy)
                    .launching(LaunchLimits.builder()
                            .launchesPerMinute(launchesPerMinute)
                            .gbSecondsPerHour(ceilingSeconds)
                            .workerMegabytes(1024)
                            .launchTimeout(Duration.ofSeconds(15))
                            .build())
                    .build();
        }

        private int limit() {
            DownstreamBudget budget = policy.downstream();
            return budget == null ? Integer.MAX_VALUE : budget.connections();
        }

        private void after(long nanos, Runnable action) {
            events.add(new Event(now + nanos, numbers++, action));
        }

        private long upTo(int seconds) {
            return random.nextLong(SECOND / 10, seconds * SECOND);
        }

        void live() {
            second();
            if (!calm) {
                after(upTo(200), this::reload);
            }
            advance(600 * SECOND);
            // Soon after the last change, the connections are within the limit, and traffic is
            // served.
            settling = true;
            wantedStreams = 5;
            advance(life + 200 * SECOND);
            assertThat(connections()).as("connections at the end").isLessThanOrEqualTo(limit());
            if (ceilingSeconds == 0) {
                assertThat(now - servedNanos)
                        .as("nanoseconds without a worker at the end")
                        .isLessThan(60 * SECOND);
            }
        }

        private void advance(long nanos) {
            long end = now + nanos;
            while (events.element().atNanos < end) {
                Event next = events.remove();
                spentSeconds += alive() * ((next.atNanos - now) / (double) SECOND);
                now = next.atNanos;
                next.action.run();
                check();
            }
            now = end;
        }

        /**
         * The sum is within the limit, or within an earlier one if a worker of that time may still
         * run.
         */
        private void check() {
            limits.removeIf(earlier -> now - earlier.untilNanos > life + 30 * SECOND);
            int most = limits.stream().mapToInt(Earlier::connections).max().orElse(0);
            assertThat(connections())
                    .as("connections of %d workers", running.size())
                    .isLessThanOrEqualTo(Math.max(limit(), most));
            int mostWorkers = limits.stream().mapToInt(Earlier::workers).max().orElse(0);
            assertThat(alive()).as("workers").isLessThanOrEqualTo(2L * Math.max(policy.maxWorkers(), mostWorkers));
            launchNanos.removeIf(launched -> now - launched >= 60 * SECOND);
            assertThat(launchNanos).as("launches in a minute").hasSizeLessThanOrEqualTo(launchesPerMinute);
            if (ceilingSeconds > 0) {
                assertThat(spentSeconds).as("GB-seconds in less than an hour").isLessThanOrEqualTo(ceilingSeconds);
            }
            if (running.values().stream().anyMatch(worker -> worker.connected && !worker.draining)) {
                servedNanos = now;
            }
        }

        /** The workers of which the controller has not been told that they ended. */
        private long alive() {
            return running.values().stream().filter(worker -> !worker.reported).count();
        }

        private int connections() {
            return running.values().stream()
                    .mapToInt(worker -> worker.connections)
                    .sum();
        }

        private void reload() {
            if (settling) {
                return;
            }
            limits.add(new Earlier(limit(), policy.maxWorkers(), now));
            policy = policy();
            controller.setOptions(function());
            after(upTo(250), this::reload);
        }

        private void second() {
            if (!settling && random.nextInt(15) == 0) {
                wantedStreams = random.nextInt(4) == 0 ? 0 : random.nextInt(1, 400);
            }
            if (!calm && random.nextInt(60) == 0 && !running.isEmpty()) {
                List<String> ids = new ArrayList<>(running.keySet());
                controller.recycle(ids.get(random.nextInt(ids.size())));
            }
            if (!calm && random.nextInt(120) == 0) {
                controller.rollout().onNamed(new NamedVersion(String.valueOf(random.nextInt(1, 4)), "", ""));
            }
            evaluate(true);
            after(SECOND, this::second);
        }

        private void evaluate(boolean withWorkers) {
            long serving = running.values().stream()
                    .filter(worker -> worker.connected && !worker.draining)
                    .count();
            int busy = (int) Math.min(wantedStreams, serving * 10);
            List<WorkerDemand> workers = running.values().stream()
                    .filter(worker -> worker.connected)
                    .map(worker -> new WorkerDemand(worker.id, 10, 1, 1, 0, 0, null, 0, null))
                    .toList();
            carryOut(controller.evaluate(
                    now,
                    new Demand(
                            numbers,
                            numbers,
                            numbers * SECOND / 10,
                            busy,
                            wantedStreams - busy,
                            Demand.Tunnels.NONE,
                            0,
                            new ServiceTimes(),
                            withWorkers ? workers : null),
                    FleetView.ALONE));
        }

        private void carryOut(Plan plan) {
            plan.shareChanges().forEach(this::tell);
            plan.kills().forEach(this::kill);
            plan.launches().forEach(this::launch);
            plan.drains().forEach(this::drain);
        }

        private void launch(Plan.Launch launch) {
            boolean listens = allListen || random.nextBoolean();
            Worker worker = new Worker("w" + named++, launch.downstreamShare(), listens, now + life);
            launchNanos.add(now);
            running.put(worker.id, worker);
            controller.onLaunched(now, worker.id, launch);
            assertThat(worker.connections).isPositive();
            assertThat(connections()).as("connections after a launch").isLessThanOrEqualTo(limit());
            boolean fails = !calm && random.nextInt(20) == 0;
            if (fails) {
                after(upTo(5), () -> end(worker, Cause.FAILED));
                return;
            }
            // Some start after they were given up.
            boolean late = !calm && random.nextInt(20) == 0;
            after(late ? 15 * SECOND + upTo(10) : upTo(4), () -> dial(worker));
            after(life, () -> end(worker, Cause.FAILED));
            if (!calm && random.nextInt(15) == 0) {
                after(upTo(100), () -> report(worker, Cause.LOST));
            }
        }

        private void dial(Worker worker) {
            if (running.containsKey(worker.id) && !worker.connected) {
                if (worker.reported) {
                    // Its token is void, so it ends soon.
                    after(upTo(3), () -> end(worker, Cause.ENDED));
                    return;
                }
                worker.connected = true;
                controller.workers().onDialled(now, worker.id, WorkerKind.LAUNCHED);
                carryOut(controller.onReady(now, worker.id, 10, worker.endNanos, "1"));
                load(worker);
                if (!calm && random.nextInt(10) == 0) {
                    after(upTo(60), () -> disconnect(worker));
                }
            }
        }

        private void disconnect(Worker worker) {
            if (worker.connected && running.containsKey(worker.id)) {
                worker.connected = false;
                controller.onDisconnected(now, worker.id, false);
                after(upTo(10), () -> dial(worker));
            }
        }

        private void load(Worker worker) {
            if (worker.connected && running.containsKey(worker.id)) {
                carryOut(controller.onLoad(now, worker.id, 0, 0));
                if (worker.listens) {
                    controller.workers().onDownstreamShare(worker.id, worker.connections);
                }
                after(5 * SECOND, () -> load(worker));
            }
        }

        private void drain(Plan.Drain drain) {
            Worker worker = running.get(drain.workerId());
            if (worker != null) {
                replaced += drain.reason() == DrainCode.SCALE_IN ? 0 : 1;
                worker.draining = true;
                long nanos = stubborn
                        ? drain.graceNanos()
                        : Math.min(random.nextBoolean() ? SECOND : upTo(60), drain.graceNanos());
                after(nanos, () -> end(worker, Cause.ENDED));
            }
        }

        private void kill(Plan.Kill kill) {
            Worker worker = running.get(kill.workerId());
            if (worker != null) {
                // As on Lambda, which cannot end an invocation.
                after(0, () -> report(worker, Cause.LOST));
            }
        }

        private void report(Worker worker, Cause cause) {
            if (!worker.reported) {
                worker.reported = true;
                controller.onExit(now, worker.id, new WorkerExit(cause, "exit"));
            }
        }

        private void end(Worker worker, Cause cause) {
            if (running.remove(worker.id) != null) {
                if (worker.connected) {
                    controller.onDisconnected(now, worker.id, cause == Cause.ENDED);
                }
                report(worker, cause);
                evaluate(false);
            }
        }

        private void tell(Plan.ShareChange change) {
            Worker worker = running.get(change.workerId());
            if (worker != null) {
                int connections = change.connections();
                assertThat(worker.listens).isTrue();
                worker.told = connections;
                // A larger one is used immediately. A smaller one takes time, or is lost.
                if (connections > worker.connections) {
                    worker.connections = connections;
                } else if (random.nextInt(10) > 0) {
                    after(upTo(3), () -> worker.connections = worker.told);
                }
            }
        }
    }
}
