package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.pool.TrafficSimulation.Behaviour;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Pools of 1 to 30 workers at 20 to 1,000 requests/s in virtual time, with the judgement of workers
 * that is used in production. A faulty worker must be ejected, after few requests. What happens to
 * all workers alike, or for a moment, must eject none. {@code
 * -Djvm.flags=-Dhealth.seeds=10000} runs more seeds of the second kind; a failure names its seed.
 */
class WorkerHealthSimulationTest {
    private static final int[] WORKERS = {1, 2, 3, 10, 30};
    private static final int[] RATES = {20, 120, 1_000};
    private static final int STREAMS = 20;
    /** Time of a healthy request, about. */
    private static final double MILLIS = 20;

    private static final Http2Headers GET = new DefaultHttp2Headers()
            .method("GET")
            .scheme("http")
            .authority("a")
            .path("/");

    /** A handler of about 20 ms, whose faults are set during the run. */
    private static class Handler implements Behaviour {
        final TrafficSimulation simulation;
        double factor = 1;
        int status = 200;
        double failRate;
        boolean fast;
        /** How many times slower the first request is. */
        double cold;

        double lateRate;
        double lateFactor;
        double lengthRate;
        double lengthSeconds;
        private int served;

        Handler(TrafficSimulation simulation) {
            this.simulation = simulation;
        }

        @Override
        public long serviceNanos(Random random) {
            double millis = fast ? 1 : MILLIS / 2 - Math.log(1 - random.nextDouble()) * MILLIS / 2;
            double late = lateRate > 0 && random.nextDouble() < lateRate ? lateFactor : 1;
            return (long) (millis * late * (factor + cold * Math.exp(-served++ / 2.0)) * 1e6);
        }

        @Override
        public long lengthNanos() {
            return lengthRate > 0 && simulation.random().nextDouble() < lengthRate ? (long) (lengthSeconds * 1e9) : 0;
        }

        @Override
        public int status() {
            return failRate > 0 && simulation.random().nextDouble() < failRate ? 500 : status;
        }
    }

    /** What happens to the first worker. */
    private enum Fault {
        FAILS_FAST((simulation, handler) -> {
            handler.fast = true;
            handler.status = 500;
        }),
        FAILS_MOSTLY((simulation, handler) -> handler.failRate = 0.8),
        REFUSES((simulation, handler) -> {
            handler.fast = true;
            handler.status = 0;
        }),
        SLOW((simulation, handler) -> handler.factor = 50);

        final BiConsumer<TrafficSimulation, Handler> begin;

        Fault(BiConsumer<TrafficSimulation, Handler> begin) {
            this.begin = begin;
        }
    }

    /** @param begin when the fault begins, in seconds; 0 = the worker never works */
    private record Case(Fault fault, int workers, int perSecond, double begin) {}

    static List<Case> cases() {
        return Arrays.stream(Fault.values())
                .flatMap(fault -> Arrays.stream(WORKERS)
                        .boxed()
                        .flatMap(workers -> Arrays.stream(RATES)
                                .boxed()
                                .flatMap(rate ->
                                        Stream.of(0.0, 20.0).map(begin -> new Case(fault, workers, rate, begin)))))
                // Two workers have no third that tells which of them is right.
                .filter(each -> each.fault != Fault.FAILS_MOSTLY || each.workers > 2)
                // A worker that serves alone is judged by its past.
                .filter(each -> each.workers > 1 || each.begin > 0)
                .toList();
    }

    @ParameterizedTest
    @MethodSource("cases")
    void should_eject_a_faulty_worker_after_few_requests(Case of) {
        Handler[] faulty = new Handler[1];
        TrafficSimulation simulation = simulation(of.workers, 1, (all, worker) -> {
            Handler handler = new Handler(all);
            faulty[0] = faulty[0] == null ? handler : faulty[0];
            return handler;
        });
        double begin = of.begin;
        double end = begin + 40;
        TrafficSimulation.Worker first = simulation.worker(0);
        simulation.at(begin, () -> of.fault.begin.accept(simulation, faulty[0]));
        double[] ejected = {0, 0, 0, 0};
        poll(simulation, begin, end, () -> {
            if (ejected[0] == 0 && first.isEjected()) {
                ejected[0] = simulation.seconds();
                ejected[1] = first.taken;
                ejected[2] = simulation.served;
                // Only a replacement makes room for a worker that serves alone.
                simulation.addWorker(new Handler(simulation));
            }
        });
        int[] taken = new int[2];
        simulation.at(begin, () -> {
            taken[0] = first.taken;
            taken[1] = simulation.served;
        });
        simulation.run((int) (of.perSecond * end), of.perSecond, GET);

        double own = (double) of.perSecond / of.workers;
        double seconds = ejected[0] - begin;
        double until = ejected[1] - taken[0];
        double share = until / (ejected[2] - taken[1]);
        double after = (first.taken - ejected[1]) / (simulation.served - ejected[2]);
        String seen = String.format(
                Locale.ROOT,
                "ejected after %.2f s and %.0f requests, %.1f %% of all, then %.2f %% of all: %s; %s",
                seconds,
                until,
                share * 100,
                after * 100,
                first.reason(),
                simulation.outcomes);
        assertThat(first.ejections()).as(seen).isPositive();
        // Five bad requests or a second, whichever is later, and a little more if little is known
        // of the others. Slow requests follow one another, and the first five do not count.
        boolean slow = of.fault == Fault.SLOW;
        int needed = slow ? of.begin == 0 ? 18 : 6 : 9;
        double pace = slow ? 1.4 : 0.2;
        double partial = of.fault == Fault.FAILS_MOSTLY ? 3 : 1;
        assertThat(seconds).as(seen).isLessThan(1 + partial * needed * (pace + 1 / own));
        assertThat(after).as(seen).isLessThan(0.01);
        if (of.workers > 1) {
            assertThat(share).as(seen).isLessThan(1.05 / of.workers + 2 / (own * of.workers));
        }
        boolean enough = of.workers * STREAMS > 2 * of.perSecond * MILLIS / 1000 && of.workers > 1;
        if (enough && of.fault != Fault.FAILS_MOSTLY) {
            assertThat(until).as(seen).isLessThan(slow ? 125 : 20);
        }
        if (of.fault == Fault.REFUSES && enough || slow && of.workers > 1) {
            assertThat(simulation.outcomes).as(seen).containsOnlyKeys("200");
        }
    }

    /** A worker stops for ten seconds, and its connection is closed after five. */
    @ParameterizedTest
    @CsvSource({
        "2, 20, 4",
        "3, 20, 3",
        "10, 20, 2",
        "30, 20, 2",
        "2, 120, 26",
        "3, 120, 10",
        "10, 120, 5",
        "30, 120, 3",
        "3, 1000, 35",
        "10, 1000, 20",
        "30, 1000, 12"
    })
    void should_send_few_requests_to_a_worker_that_has_stopped(int workers, int perSecond, int stalled) {
        TrafficSimulation simulation = simulation(workers, 1, (all, worker) -> new Handler(all));
        TrafficSimulation.Worker first = simulation.worker(0);
        simulation.at(20, () -> first.stop(10));
        simulation.at(25, first::kill);
        simulation.run(perSecond * 40, perSecond, GET);
        assertThat(simulation.outcomes).containsOnlyKeys("200");
        assertThat(simulation.slowerThan(1)).as(simulation.toString()).isLessThanOrEqualTo(stalled);
        assertThat(simulation.workers())
                .allSatisfy(worker -> assertThat(worker.ejections()).isZero());
    }

    /** What happens to all workers alike, or only for a moment. */
    private enum Control {
        /** One response in twenty is a 500. */
        ERRORS {
            @Override
            void prepare(Control.Run run) {
                run.handlers.forEach(handler -> handler.failRate = 0.05);
            }
        },
        /** One request fails on any worker, and its client repeats it. */
        BAD_REQUEST {
            @Override
            void prepare(Control.Run run) {
                double every = run.random.nextDouble(0.05, 2);
                int times = run.random.nextInt(1, 30);
                run.badAt = new double[times];
                for (int i = 0; i < times; i++) {
                    run.badAt[i] = run.random.nextDouble(5) + i * every;
                }
            }
        },
        /** Fresh workers join, and are slower at first. */
        COLD_START {
            @Override
            void prepare(Control.Run run) {
                run.handlers.forEach(handler -> handler.cold = run.random.nextDouble(5, 50));
                double at = run.random.nextDouble(5);
                int more = run.random.nextInt(1, 3 * run.workers + 1);
                run.simulation.at(at, () -> {
                    for (int i = 0; i < more; i++) {
                        run.add().cold = run.random.nextDouble(5, 50);
                    }
                });
            }
        },
        /** Fresh workers join, and requests take from 20 ms to a second. */
        SCALE_OUT {
            @Override
            void prepare(Control.Run run) {
                double factor = run.random.nextDouble(1, 50);
                run.handlers.forEach(handler -> handler.factor = factor);
                int more = run.random.nextInt(1, 3 * run.workers + 1);
                run.simulation.at(run.random.nextDouble(1, 5), () -> {
                    for (int i = 0; i < more; i++) {
                        run.add().factor = factor;
                    }
                });
            }
        },
        /** Each worker pauses now and then. */
        PAUSES {
            @Override
            void prepare(Control.Run run) {
                double longest = run.random.nextDouble(0.1, 3);
                for (TrafficSimulation.Worker worker : run.simulation.workers()) {
                    for (double at = 0; at < run.seconds; at += run.random.nextDouble(1, 20) + longest) {
                        double pause = run.random.nextDouble(longest);
                        run.simulation.at(at, () -> worker.stop(pause));
                    }
                }
            }
        },
        /** Some responses begin late, and some are long. */
        MIXED {
            @Override
            void prepare(Control.Run run) {
                double late = run.random.nextDouble(0.9);
                double lateFactor = run.random.nextDouble(5, 200);
                double length = run.random.nextDouble(0.1, 10);
                double lengthRate = run.random.nextDouble(0.5);
                run.handlers.forEach(handler -> {
                    handler.lateRate = late;
                    handler.lateFactor = lateFactor;
                    handler.lengthRate = lengthRate;
                    handler.lengthSeconds = length;
                });
            }
        },
        /** What all workers call is down for some seconds. */
        OUTAGE {
            @Override
            void prepare(Control.Run run) {
                boolean slow = run.random.nextBoolean();
                double rate = run.random.nextDouble(0.1, 1);
                double at = run.random.nextDouble(10);
                run.simulation.at(
                        at,
                        () -> run.handlers.forEach(handler -> {
                            handler.factor = slow ? 1 + 50 * rate : 1;
                            handler.failRate = slow ? 0 : rate;
                            handler.fast = !slow && rate > 0.5;
                        }));
                run.simulation.at(
                        at + run.random.nextDouble(20),
                        () -> run.handlers.forEach(handler -> {
                            handler.factor = 1;
                            handler.failRate = 0;
                            handler.fast = false;
                        }));
            }
        };

        abstract void prepare(Run run);

        /** One run, in which the seed selects all sizes. */
        static final class Run {
            final SplittableRandom random;
            final List<Handler> handlers = new ArrayList<>();
            final TrafficSimulation simulation;
            final int workers;
            final int perSecond;
            final double seconds;
            double[] badAt = {};

            Run(Control control, long seed) {
                random = new SplittableRandom(seed);
                int[] sizes = control == OUTAGE ? new int[] {2, 3, 10, 30} : WORKERS;
                workers = sizes[random.nextInt(sizes.length)];
                perSecond = RATES[random.nextInt(RATES.length)];
                simulation = new TrafficSimulation(FunctionOptions.builder("f").build(), STREAMS, random.nextLong());
                for (int i = 0; i < workers; i++) {
                    add();
                }
                int requests = Math.min(perSecond * 60, 6_000);
                seconds = (double) requests / perSecond;
                control.prepare(this);
                for (double at : badAt) {
                    simulation.at(at, () -> simulation.arrive(GET, 500));
                }
                simulation.run(requests, perSecond, GET);
            }

            Handler add() {
                Handler handler = new Handler(simulation);
                handlers.add(handler);
                simulation.addWorker(handler);
                return handler;
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Control.class)
    void should_eject_no_healthy_worker(Control control) {
        long first = Long.getLong("health.first", 1);
        long count = Long.getLong("health.seeds", 20);
        for (long seed = first; seed < first + count; seed++) {
            Control.Run run = new Control.Run(control, seed);
            for (TrafficSimulation.Worker worker : run.simulation.workers()) {
                assertThat(worker.ejections())
                        .as("seed %s, %s workers, %s requests/s: %s", seed, run.workers, run.perSecond, worker.reason())
                        .isZero();
            }
        }
    }

    private interface Workers {
        Behaviour create(TrafficSimulation simulation, int index);
    }

    private static TrafficSimulation simulation(int workers, long seed, Workers behaviours) {
        TrafficSimulation simulation =
                new TrafficSimulation(FunctionOptions.builder("f").build(), STREAMS, seed);
        for (int i = 0; i < workers; i++) {
            simulation.addWorker(behaviours.create(simulation, i));
        }
        return simulation;
    }

    private static void poll(TrafficSimulation simulation, double from, double until, Runnable look) {
        for (double at = from; at < until; at += 0.02) {
            simulation.at(at, look);
        }
    }
}
