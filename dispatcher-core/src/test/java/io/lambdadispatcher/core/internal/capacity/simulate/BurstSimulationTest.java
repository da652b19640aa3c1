package io.lambdadispatcher.core.internal.capacity.simulate;

import static io.lambdadispatcher.core.internal.capacity.simulate.SimulationSetting.*;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests base and burst in virtual time. */
class BurstSimulationTest {
    /** The index of dispersion of the arrivals of one second. */
    private static final double BURSTY = 10;

    private static final double POISSON = 1;

    /** Returns a base that 60 % of its streams serve at the rate. */
    private static SimulationSettings base(double perSecond) {
        return BurstRun.settings(2, (int) Math.ceil(perSecond * 0.2 / 0.6 / 2));
    }

    @ParameterizedTest
    @CsvSource({"50, 1", "50, 2", "400, 1", "400, 2", "2000, 1"})
    void should_launch_nothing_for_steady_traffic_that_the_base_can_hold(int rate, int seed) {
        BurstRun run = new BurstRun(base(rate).with(SEED, seed), POISSON, 600, rate).runAll();

        System.out.println(run.row("steady " + rate));
        assertThat(run.path.launchNanos).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"50, 0", "50, 0.5", "50, 1", "400, 0", "400, 0.5", "400, 1", "2000, 0", "2000, 1"})
    void should_follow_a_spike(int rate, double warm) {
        SimulationSettings settings = base(rate).with(WARM_START_PROBABILITY, warm);
        BurstRun run = new BurstRun(settings, BURSTY, 60, rate, 10 * rate, rate, rate).runAll();

        System.out.println(run.row("spike " + rate + ", warm " + warm));
        System.out.println(run.phases(60,61,62,63,65,75,90,120,125,250));
        System.out.println(run.path.timeline.counted().stream().filter(l -> l.seconds() > 120 && l.wanted() > 0).mapToDouble(Timeline.Look::seconds).max());
        System.out.println(run.path.timeline.counted().stream().filter(l -> l.seconds() > 120 && l.alive() > 2).mapToDouble(Timeline.Look::seconds).max());
    }

    @ParameterizedTest
    @ValueSource(ints = {50, 400, 2000})
    void should_follow_steps(int rate) {
        BurstRun run = new BurstRun(
                        base(rate), BURSTY, 60, rate, 1.3 * rate, 1.8 * rate, 2.5 * rate, 1.2 * rate, rate, 2 * rate, rate)
                .runAll();

        System.out.println(run.row("steps " + rate));
    }

    @Test
    @EnabledIfSystemProperty(named = "burst.traces", matches = ".+")
    void should_follow_recorded_traffic() throws IOException {
        System.out.println(BurstRun.HEAD);
        for (String trace : List.of("elb", "news")) {
            double[] counts = Files.readAllLines(Path.of(System.getProperty("burst.traces"), trace + ".csv")).stream()
                    .skip(1)
                    .mapToDouble(line -> Double.parseDouble(line.substring(line.indexOf(',') + 1)))
                    .toArray();
            double mean = Arrays.stream(counts).average().orElseThrow();
            int peak = 0;
            for (int i = 0; i < counts.length; i++) {
                peak = counts[i] > counts[peak] ? i : peak;
            }
            for (int rate : new int[] {50, 400, 2000}) {
                int bins = Integer.getInteger("burst.bins", 288) * 50 / Math.max(50, Math.min(rate, 400));
                int from = Math.max(0, Math.min(counts.length - bins, peak - bins / 2));
                double[] rates = Arrays.stream(counts, from, from + bins)
                        .map(count -> Math.max(0.1, count / mean * rate))
                        .toArray();
                for (double warm : new double[] {0, 0.5, 1}) {
                    BurstRun run = new BurstRun(base(rate).with(WARM_START_PROBABILITY, warm), BURSTY, 300, rates).runAll();
                    System.out.println(run.row(trace + " " + rate + ", warm " + warm));
                }
            }
        }
    }
}
