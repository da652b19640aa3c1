package io.lambdadispatcher.core.internal.capacity.simulate;

import static io.lambdadispatcher.core.internal.capacity.simulate.SimulationSetting.*;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests base and burst in virtual time: the production controller beside a base that carries the
 * mean rate with 60 % of its streams. With {@code -Dburst.traces=DIR}, it also follows recorded
 * traffic and prints a table.
 */
class BurstSimulationTest {
    /** The index of dispersion of the arrivals of one second. */
    private static final double BURSTY = 10;

    private static final double POISSON = 1;
    /** From dialling in to readiness, and until an invocation reaches its environment. */
    private static final long OVERHEAD_NANOS = 100_000_000;

    private static SimulationSettings base(double perSecond) {
        return BurstRun.settings(2, (int) Math.ceil(perSecond * 0.2 / 0.6 / 2));
    }

    @ParameterizedTest
    @CsvSource({"50, 1", "50, 2", "400, 1", "2000, 1"})
    void should_launch_nothing_for_steady_traffic_that_the_base_can_hold(int rate, int seed) {
        BurstRun run = new BurstRun(base(rate).with(SEED, seed), POISSON, 600, rate).runAll();

        assertThat(run.path.launchNanos).isEmpty();
        assertThat(run.path.tally.answered).isEqualTo(run.path.tally.arrived);
    }

    @ParameterizedTest
    @CsvSource({"50, 0", "50, 0.5", "50, 1", "400, 0", "400, 0.5", "400, 1", "2000, 0"})
    void should_carry_a_spike_and_leave_within_a_minute(int rate, double warm) {
        SimulationSettings settings = base(rate).with(WARM_START_PROBABILITY, warm);
        BurstRun run = new BurstRun(settings, BURSTY, 60, rate, 10 * rate, rate, rate).runAll();

        assertKept(run);
        if (rate > 50) {
            // At 50/s, the bursts of the traffic exceed the base now and then without a spike.
            assertThat(run.lastLaunchedSeconds()).isLessThan(120 + 60);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {50, 400, 2000})
    void should_follow_steps(int rate) {
        BurstRun run = new BurstRun(
                        base(rate),
                        BURSTY,
                        60,
                        rate,
                        1.3 * rate,
                        1.8 * rate,
                        2.5 * rate,
                        1.2 * rate,
                        rate,
                        2 * rate,
                        rate)
                .runAll();

        assertKept(run);
    }

    private static void assertKept(BurstRun run) {
        SimulationTally tally = run.path.tally;
        assertThat(tally.answered).isEqualTo(tally.arrived);
        assertThat(tally.launchesWithRoom).isZero();
        assertThat(tally.wait.getMaxValue()).isLessThanOrEqualTo(run.path.longestStartNanos + OVERHEAD_NANOS);
    }

    @Test
    void should_replace_a_base_that_fails_and_leave_when_it_returns() {
        BurstRun run = new BurstRun(base(400), POISSON, 180, 400).runUntil(60);
        assertThat(run.path.launchNanos).isEmpty();

        run.path.loseBase();
        run.runUntil(64);
        assertThat(run.latest().ready()).isGreaterThanOrEqualTo(8);
        assertThat(run.path.launchNanos.get(0)).isLessThan(run.time.nowNanos() - 3_900_000_000L);

        run.runUntil(70);
        run.path.growBase(2);
        int launches = run.path.launchNanos.size();
        run.runUntil(130);
        assertThat(run.latest().alive()).isEqualTo(2);
        assertThat(run.path.launchNanos).hasSize(launches);
        assertThat(run.path.tally.refused + run.path.tally.expired).isZero();
        // All requests of the first start are queued, and those behind them wait until they are
        // served: longer than a start, but not longer than two.
        assertThat(run.path.tally.wait.getMaxValue()).isLessThanOrEqualTo(2 * run.path.longestStartNanos);
    }

    /** Bases, rates, steps, bursts and warm environments are random. */
    @Test
    void should_launch_nothing_while_the_base_has_room_for_a_second() {
        for (int seed = 1; seed <= Integer.getInteger("burst.seeds", 15); seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            SimulationSettings settings = BurstRun.settings(1 + random.nextInt(4), 2 + random.nextInt(20))
                    .with(SEED, seed)
                    .with(WARM_START_PROBABILITY, random.nextInt(3) / 2.0);
            double[] perSecond = random.doubles(6, 5, 150).toArray();
            BurstRun run = new BurstRun(settings, random.nextBoolean() ? POISSON : BURSTY, 20, perSecond).runAll();
            assertThat(run.path.tally.launchesWithRoom).as("seed %d", seed).isZero();
        }
    }

    /**
     * Takes two days around the peak of each record at 50 requests/s, and six hours at higher
     * rates.
     */
    @ParameterizedTest
    @CsvSource({"elb, 50", "news, 50", "elb, 400", "news, 400", "elb, 2000", "news, 2000"})
    @EnabledIfSystemProperty(named = "burst.traces", matches = ".+")
    void should_follow_recorded_traffic(String trace, int rate) throws IOException {
        double[] counts = recorded(trace);
        double mean = Arrays.stream(counts).average().orElseThrow();
        int bins = Math.min(Integer.getInteger("burst.bins", 576), 28_800 / rate);
        int from = Math.max(0, Math.min(counts.length - bins, peak(counts) - bins / 2));
        double[] rates = Arrays.stream(counts, from, from + bins)
                .map(count -> Math.max(0.1, count / mean * rate))
                .toArray();
        System.out.println(BurstRun.HEAD);
        for (double warm : new double[] {0, 0.5, 1}) {
            BurstRun run = new BurstRun(base(rate).with(WARM_START_PROBABILITY, warm), BURSTY, 300, rates).runAll();
            System.out.println(run.row(trace + " " + rate + ", warm " + warm));
            assertKept(run);
            assertThat(run.path.tally.calmWait.getValueAtPercentile(99)).isLessThan(50_000_000);
        }
    }

    private static double[] recorded(String trace) throws IOException {
        return Files.readAllLines(Path.of(System.getProperty("burst.traces"), trace + ".csv")).stream()
                .skip(1)
                .mapToDouble(line -> Double.parseDouble(line.substring(line.indexOf(',') + 1)))
                .toArray();
    }

    /**
     * Compares with the model of docs/explanation/cost.md, for all of the traffic and for the day
     * of the peak: the total time of launched workers that carry what exceeds the base.
     * test_macro.py calculates it with the model.
     */
    @ParameterizedTest
    @CsvSource({"50, 60, 4032, 1205935, 1.13", "400, 450, 288, 653702, 0.58"})
    @EnabledIfSystemProperty(named = "burst.traces", matches = ".+")
    void should_keep_launched_workers_as_long_as_the_cost_page_says(
            int rate, int baseRate, int bins, int modelSeconds, double expected) throws IOException {
        double[] counts = recorded("elb");
        double mean = Arrays.stream(counts).average().orElseThrow();
        int from = Math.max(0, Math.min(counts.length - bins, peak(counts) - bins / 2));
        double[] rates = Arrays.stream(counts, from, from + bins)
                .map(count -> Math.max(0.1, count / mean * rate))
                .toArray();

        BurstRun run = new BurstRun(base(baseRate).with(STREAMS, 8), BURSTY, 300, rates).runAll();

        System.out.printf(
                Locale.ROOT, "%d/s: launched workers for %,.0f s, all together%n", rate, run.launchedSeconds());
        assertThat(run.launchedSeconds() / modelSeconds).isBetween(expected - 0.05, expected + 0.05);
    }

    private static int peak(double[] counts) {
        int peak = 0;
        for (int i = 0; i < counts.length; i++) {
            peak = counts[i] > counts[peak] ? i : peak;
        }
        return peak;
    }
}
