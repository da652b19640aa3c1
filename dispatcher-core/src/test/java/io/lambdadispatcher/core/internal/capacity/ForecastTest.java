package io.lambdadispatcher.core.internal.capacity;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.observe.ServiceTimes;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.IntUnaryOperator;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Shows why there is no forecast: launching what the same hour of earlier weeks needed costs more
 * than it saves, with recorded traffic and the production controller beside a base. A second is one
 * step, so waits without a forecast are rather too long than too short.
 */
@EnabledIfSystemProperty(named = "burst.traces", matches = ".+")
class ForecastTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final int BIN_SECONDS = 300;
    private static final int WEEK = 7 * 86_400;
    private static final int STREAMS = 8;
    private static final double PER_SECOND_OF_STREAM = 5;
    private static final double UTILIZATION = 0.8;
    private static final int START_SECONDS = 2;
    /** As in WorkerTarget: what a start costs beside its own time, for its latency. */
    private static final double LATENCY_OF_START = 14 * (START_SECONDS + 1);

    private static int[] concurrency(String trace, double perSecond) throws IOException {
        double[] counts = BaseAdviceTest.counts(trace);
        double mean = Arrays.stream(counts).average().orElseThrow();
        int[] seconds = new int[counts.length * BIN_SECONDS];
        Random random = new Random(1);
        for (int i = 0; i < seconds.length; i++) {
            double rate = counts[i / BIN_SECONDS] / mean * perSecond;
            double arrivals = rate + random.nextGaussian() * Math.sqrt(10 * rate);
            seconds[i] = (int) Math.max(0, Math.round(arrivals / PER_SECOND_OF_STREAM));
        }
        return seconds;
    }

    private static int workers(int concurrency, int base) {
        return (int) Math.ceil(Math.max(0, concurrency / UTILIZATION - base) / STREAMS);
    }

    /** Returns the quantile of what each slot of the week needed in the weeks before. */
    private static int[] forecast(int[] concurrency, int until, int base, int slotSeconds, double quantile) {
        int[] forecast = new int[WEEK / slotSeconds];
        for (int slot = 0; slot < forecast.length; slot++) {
            double weighted = 0;
            double weights = 0;
            double weight = 1;
            for (int week = until - WEEK; week >= 0; week -= WEEK) {
                int from = week + slot * slotSeconds;
                int[] sorted = Arrays.stream(concurrency, from, from + slotSeconds)
                        .sorted()
                        .toArray();
                int index = (int) Math.min(sorted.length - 1, Math.round(quantile * sorted.length));
                weighted += weight * workers(sorted[index], base);
                weights += weight;
                weight /= 2;
            }
            forecast[slot] = (int) Math.round(weighted / weights);
        }
        return forecast;
    }

    /** One week of traffic on the production controller. */
    private static final class Week {
        private final int base;
        private final Map<String, Long> launched = new LinkedHashMap<>();
        private final CapacityController controller;
        private long now = SECOND;
        private int ready;
        private int minimum;
        private long arrived;
        private int launches;
        private long workerSeconds;
        private double waited;
        private double waitSeconds;

        Week(int base) {
            this.base = base;
            controller = new CapacityController(function(), new Random(1));
            for (int i = 0; i < 2; i++) {
                controller.workers().onDialled(now, "base" + i, WorkerKind.BASE);
                controller.onReady(now, "base" + i, base / 2, WorkerLife.NEVER, "");
            }
        }

        private FunctionOptions function() {
            return FunctionOptions.builder("f")
                    .streamsPerConnection(STREAMS)
                    .capacity(CapacityPolicy.between(minimum, 10_000))
                    .launching(LaunchLimits.builder().launchesPerMinute(100_000).build())
                    .build();
        }

        Week run(int[] concurrency, int from, IntUnaryOperator minimumAt) {
            double queue = 0;
            for (int i = 0; i < WEEK; i++) {
                if (minimumAt.applyAsInt(i) != minimum) {
                    minimum = minimumAt.applyAsInt(i);
                    controller.setOptions(function());
                }
                int arrivals = (int) (concurrency[from + i] * PER_SECOND_OF_STREAM);
                double streams = base + (double) ready * STREAMS;
                double served = Math.min(streams * PER_SECOND_OF_STREAM, queue + arrivals);
                waited += Math.min(arrivals, Math.max(0, queue + arrivals - served));
                queue += arrivals - served;
                waitSeconds += queue;
                workerSeconds += launched.size();
                arrived += arrivals;
                step((int) Math.ceil(served / PER_SECOND_OF_STREAM), (int) queue);
            }
            return this;
        }

        private void step(int busy, int pending) {
            now += SECOND;
            List<WorkerDemand> seen = new ArrayList<>();
            seen.add(demand("base0", base / 2));
            seen.add(demand("base1", base / 2));
            ready = 0;
            for (Map.Entry<String, Long> each : launched.entrySet()) {
                long age = now - each.getValue();
                if (age == START_SECONDS * SECOND) {
                    controller.workers().onDialled(now, each.getKey(), WorkerKind.LAUNCHED);
                    controller.onReady(now, each.getKey(), STREAMS, WorkerLife.NEVER, "");
                }
                if (age >= START_SECONDS * SECOND) {
                    ready++;
                    seen.add(demand(each.getKey(), STREAMS));
                }
            }
            long completed = arrived - busy - pending;
            Demand demand = new Demand(
                    arrived,
                    completed,
                    completed * SECOND / 5,
                    busy,
                    pending,
                    Demand.Tunnels.NONE,
                    0,
                    new ServiceTimes(),
                    seen);
            Plan plan = controller.evaluate(now, demand, FleetView.ALONE);
            for (Plan.Launch launch : plan.launches()) {
                String id = "w" + launches++;
                launched.put(id, now);
                controller.onLaunched(now, id, launch);
            }
            for (Plan.Drain drain : plan.drains()) {
                launched.remove(drain.workerId());
                ready--;
                controller.onDisconnected(now, drain.workerId(), true);
                controller.onExit(now, drain.workerId(), new WorkerExit(Cause.ENDED, ""));
            }
        }

        private static WorkerDemand demand(String id, int streams) {
            return new WorkerDemand(id, streams, 0, 0, 0, 0, null, 0, null);
        }

        /** Returns what it costs in worker-seconds, with the controller's price of a start. */
        double price() {
            return workerSeconds + LATENCY_OF_START * launches;
        }

        String row(String name, Week without) {
            return String.format(
                    Locale.ROOT,
                    "| %s | %,d | %,d | %,.0f | %.2f s | %+.0f %% |",
                    name,
                    workerSeconds,
                    launches,
                    waited,
                    waitSeconds / Math.max(1, waited),
                    100 * (price() / without.price() - 1));
        }
    }

    /** The week of {@code news} is the last one with a peak of more than 10 times the mean. */
    @ParameterizedTest
    @CsvSource({"elb, 50, 2", "elb, 400, 2", "news, 50, 6"})
    void should_cost_more_than_it_saves(String trace, int perSecond, int week) throws IOException {
        int[] concurrency = concurrency(trace, perSecond);
        int base = 2 * (int) Math.ceil(perSecond / PER_SECOND_OF_STREAM / 0.6 / 2);
        int from = (week - 1) * WEEK;
        Week without = new Week(base).run(concurrency, from, second -> 0);
        System.out.println("| " + trace + ", " + perSecond + "/s, week " + week
                + " | worker-seconds | launches | waited | mean wait | price |\n|---|---|---|---|---|---|");
        System.out.println(without.row("without", without));
        for (int slot : new int[] {3600, 300}) {
            for (double quantile : new double[] {0.5, 0.9, 1}) {
                int[] forecast = forecast(concurrency, from, base, slot, quantile);
                // Ready at the begin of the slot.
                Week with = new Week(base)
                        .run(concurrency, from, second -> forecast[(second + START_SECONDS + 1) % WEEK / slot]);
                System.out.println(with.row("slots of " + slot + " s, quantile " + quantile, without));
                assertThat(with.price()).isGreaterThanOrEqualTo(without.price());
            }
        }
    }
}
