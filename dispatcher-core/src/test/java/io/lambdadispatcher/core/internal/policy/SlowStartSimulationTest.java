package io.lambdadispatcher.core.internal.policy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.function.ToDoubleFunction;
import org.junit.jupiter.api.Test;

/**
 * Tests whether fresh workers should get a rising share of the requests, in virtual time. A request
 * needs 4 ms of processor time and waits for 20 ms. A fresh worker needs {@link #COLD} times the
 * processor time, which falls until it has served {@link #WARM_REQUESTS} requests. The requests of
 * a worker share one processor. Eight warm workers are 60 % busy. Then the traffic rises by half
 * and four fresh workers join (scale-out), or one fresh worker replaces a warm one each 10 s.
 *
 * <p>The verdict: choosing by requests in flight times the processor time of a request, as workers
 * report it every 5 s, is better than choosing by requests in flight alone. A worker without a
 * report counts as twice as slow as the others. Counting it as slower is worse when workers are
 * replaced, because the warm ones are then overloaded. {@link #main} prints the table.
 */
class SlowStartSimulationTest {
    private static final double CPU_MILLIS = 4;
    private static final double WAIT_MILLIS = 20;
    private static final double COLD = 5;
    private static final double WARM_REQUESTS = 2_000;
    private static final int WARM_WORKERS = 8;
    private static final double BUSY = 0.6;
    private static final double JOIN_MILLIS = 10_000;
    private static final double END_MILLIS = 70_000;
    private static final double STEP_MILLIS = 0.1;
    private static final double REPORT_MILLIS = 5_000;

    private static final class Worker {
        final double bornMillis;
        /** The requests that compete for the processor: processor time that is left. */
        final List<double[]> running = new ArrayList<>();

        int inFlight;
        double served;
        private double reportedAtMillis;
        private double cpuSinceMillis;
        private int servedSince;
        /** Processor time of a request by the last report, in units of a warm worker; 0 = none. */
        double reported;

        Worker(double bornMillis, double served) {
            this.bornMillis = bornMillis;
            this.served = served;
            this.reportedAtMillis = bornMillis;
            this.reported = served == 0 ? 0 : 1;
        }

        void report(double now) {
            if (now - reportedAtMillis >= REPORT_MILLIS) {
                reportedAtMillis = now;
                reported = servedSince == 0 ? reported : cpuSinceMillis / servedSince / CPU_MILLIS;
                cpuSinceMillis = 0;
                servedSince = 0;
            }
        }

        int reportedMicros() {
            return (int) (1_000 * CPU_MILLIS * reported);
        }

        double byReport(double atFirst) {
            return reported == 0 ? atFirst : Math.max(1, reported);
        }

        /** Returns the factor by which requests need more processor time than when warm. */
        double coldness() {
            return 1 + (COLD - 1) * Math.max(0, 1 - served / WARM_REQUESTS);
        }
    }

    private enum Scenario {
        SCALE_OUT,
        REPLACEMENT
    }

    /** Chooses the worker with the fewest requests in flight, multiplied by a factor. */
    private record Rule(String name, ToDoubleFunction<Worker> factor) {
        double rank(Worker worker) {
            return (worker.inFlight + 1) * factor.applyAsDouble(worker);
        }
    }

    private static final Rule NONE = new Rule("least busy worker", worker -> 1);
    /** What would be known if workers reported after each request. */
    private static final Rule BY_LOAD = new Rule("by the processor time of a request", Worker::coldness);

    /** What the pool does. */
    private static final Rule POOL = new Rule(
            "`function.slow-start`",
            worker -> SlowStart.factor(worker.reportedMicros(), (int) (1_000 * CPU_MILLIS)) / (double) SlowStart.ONE);

    private static Rule reported(double atFirst) {
        return new Rule("by the last report, " + atFirst + " before the first", worker -> worker.byReport(atFirst));
    }

    private record Wait(double endMillis, Worker by, double arrivedMillis) {}

    private static final class Run {
        private final Random random = new Random(5);
        private final List<Worker> workers = new ArrayList<>();
        private final PriorityQueue<Wait> waiting =
                new PriorityQueue<>((one, other) -> Double.compare(one.endMillis, other.endMillis));
        private final List<List<Double>> seconds = new ArrayList<>();
        private final List<Double> latencies = new ArrayList<>();
        private final Rule rule;
        private final Scenario scenario;
        private double replaced = JOIN_MILLIS;

        Run(Scenario scenario, Rule rule) {
            this.scenario = scenario;
            this.rule = rule;
            for (int i = 0; i < WARM_WORKERS; i++) {
                workers.add(new Worker(0, WARM_REQUESTS));
            }
            for (int i = 0; i <= END_MILLIS / 1_000; i++) {
                seconds.add(new ArrayList<>());
            }
            run();
        }

        private void run() {
            boolean joined = false;
            double base = WARM_WORKERS * BUSY / CPU_MILLIS;
            double next = 0;
            for (double now = 0; now < END_MILLIS; now += STEP_MILLIS) {
                if (scenario == Scenario.SCALE_OUT && now >= JOIN_MILLIS && !joined) {
                    joined = true;
                    for (int i = 0; i < WARM_WORKERS / 2; i++) {
                        workers.add(new Worker(now, 0));
                    }
                } else if (scenario == Scenario.REPLACEMENT && now >= replaced) {
                    replaced += 10_000;
                    workers.remove(0); // it drains
                    workers.add(new Worker(now, 0));
                }
                double rate = base * (joined ? 1.5 : 1);
                for (; next < now; next += -Math.log(1 - random.nextDouble()) / rate) {
                    arrive(now);
                }
                step(now);
            }
            latencies.sort(null);
        }

        private void arrive(double now) {
            Worker best = workers.get(0);
            for (Worker worker : workers) {
                double rank = rule.rank(worker);
                // Among equals, the one that has waited longest is first, as in LeastOutstanding.
                if (rank < rule.rank(best) || rank == rule.rank(best) && random.nextInt(workers.size()) == 0) {
                    best = worker;
                }
            }
            best.inFlight++;
            double cpu = -CPU_MILLIS * Math.log(1 - random.nextDouble()) * best.coldness();
            best.running.add(new double[] {cpu, now});
        }

        private void step(double now) {
            for (Worker worker : workers) {
                worker.report(now);
                double each = STEP_MILLIS / Math.max(1, worker.running.size());
                worker.cpuSinceMillis += worker.running.isEmpty() ? 0 : STEP_MILLIS;
                for (int i = worker.running.size() - 1; i >= 0; i--) {
                    double[] request = worker.running.get(i);
                    request[0] -= each;
                    if (request[0] <= 0) {
                        worker.running.remove(i);
                        waiting.add(new Wait(now + WAIT_MILLIS, worker, request[1]));
                    }
                }
            }
            while (!waiting.isEmpty() && waiting.peek().endMillis <= now) {
                Wait done = waiting.remove();
                done.by.inFlight--;
                done.by.served++;
                done.by.servedSince++;
                if (now >= JOIN_MILLIS) {
                    seconds.get((int) (now / 1_000)).add(now - done.arrivedMillis);
                    latencies.add(now - done.arrivedMillis);
                }
            }
        }

        double percentileMillis(double percent) {
            return latencies.get((int) (latencies.size() * percent / 100));
        }

        /** Returns the 99th percentile of the worst second. */
        double worstSecondMillis() {
            return seconds.stream()
                    .filter(second -> !second.isEmpty())
                    .mapToDouble(second -> {
                        double[] sorted = second.stream()
                                .mapToDouble(each -> each)
                                .sorted()
                                .toArray();
                        return sorted[(int) (sorted.length * 0.99)];
                    })
                    .max()
                    .orElse(0);
        }

        /** Returns how many seconds had a 99th percentile above twice that of warm workers. */
        long slowSeconds(double warmMillis) {
            return seconds.stream()
                    .filter(second -> !second.isEmpty())
                    .filter(second -> {
                        double[] sorted = second.stream()
                                .mapToDouble(each -> each)
                                .sorted()
                                .toArray();
                        return sorted[(int) (sorted.length * 0.99)] > 2 * warmMillis;
                    })
                    .count();
        }

        String row() {
            return String.format(
                    Locale.ROOT,
                    "| %s | %s | %.0f ms | %.0f ms | %.0f ms | %d |",
                    scenario,
                    rule.name,
                    percentileMillis(50),
                    percentileMillis(99),
                    worstSecondMillis(),
                    slowSeconds(60));
        }
    }

    public static void main(String[] args) {
        for (Scenario scenario : Scenario.values()) {
            for (Rule rule : Arrays.asList(NONE, BY_LOAD, POOL, reported(1), reported(4), reported(8))) {
                System.out.println(new Run(scenario, rule).row());
            }
        }
    }

    @Test
    void should_respond_faster_after_scale_out_and_replacement_if_fresh_workers_get_fewer_requests() {
        for (Scenario scenario : Scenario.values()) {
            Run without = new Run(scenario, NONE);
            Run with = new Run(scenario, POOL);
            assertThat(with.percentileMillis(99)).isLessThan(0.8 * without.percentileMillis(99));
            assertThat(with.worstSecondMillis()).isLessThan(0.8 * without.worstSecondMillis());
            assertThat(with.percentileMillis(50)).isLessThan(1.2 * without.percentileMillis(50));
        }
    }
}
