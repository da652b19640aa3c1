package io.lambdadispatcher.core.internal.capacity.simulate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.lambdadispatcher.core.internal.capacity.simulate.Timeline.Look;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the capacity controller in virtual time. */
class SimulationTest {
    private static final long SECOND = 1_000_000_000;

    @Test
    void should_ask_for_all_workers_of_a_burst_within_100_ms() {
        Simulation run = Simulation.run(Scenario.SCALE_UP, Scenario.SCALE_UP.settings());

        assertThat(looks(run, 0, 0.1)).anySatisfy(look -> {
            assertThat(look.ready()).isEqualTo(2);
            assertThat(look.alive()).isEqualTo(20);
        });
        assertThat(run.dispatch.tally.answered).isEqualTo(1000);
        // Published measurements of others: 81 requests per second, 1,167 ms.
        assertThat(run.dispatch.tally.answersPerSecond()).isGreaterThan(81);
        assertThat(run.dispatch.tally.latency.getMean() / 1e6).isLessThan(1167);
    }

    @Test
    void should_reproduce_the_published_direct_path() {
        Simulation run = Simulation.run(Scenario.SCALE_UP, Scenario.SCALE_UP.settings());

        assertThat(run.direct.tally.launches).isEqualTo(90);
        assertThat(run.direct.tally.answersPerSecond()).isCloseTo(98, within(10.0));
        assertThat(run.direct.tally.latency.getMean() / 1e6).isCloseTo(873, within(87.0));
        assertThat(run.direct.tally.latency.getMaxValue() / 1e6).isCloseTo(8_800, within(500.0));
    }

    @Test
    void should_repeat_itself_with_the_same_seed_only() {
        SimulationSettings settings = Scenario.SPIKE.settings().with(SimulationSetting.DURATION_SECONDS, 200);

        String first = json(Scenario.SPIKE, settings);

        assertThat(json(Scenario.SPIKE, settings)).isEqualTo(first);
        assertThat(json(Scenario.SPIKE, settings.with(SimulationSetting.SEED, 2)))
                .isNotEqualTo(first);
    }

    private static String json(Scenario scenario, SimulationSettings settings) {
        return new Report(scenario, Simulation.run(scenario, settings)).json();
    }

    @Test
    void should_never_launch_more_in_a_minute_than_the_guard_allows() {
        SimulationSettings settings = Scenario.FAILING.settings().with(SimulationSetting.LAUNCHES_PER_MINUTE, 40);

        Simulation run = Simulation.run(Scenario.FAILING, settings);

        assertThat(looks(run, 1, 5))
                .allSatisfy(look -> assertThat(look.pending()).isEqualTo(1000));
        assertThat(Report.mostLaunchesInMinute(run.dispatch.launchNanos)).isEqualTo(40);
        assertThat(run.dispatch.tally.answered).isZero();
        // The circuit is open for most of the 15 minutes, but probes continue.
        assertThat(run.dispatch.tally.launches).isBetween(50L, 15 * 40L / 2);
    }

    /** The others have room for its requests, which they get after 5 s. */
    @ParameterizedTest
    @CsvSource({"20, 20", "120, 20", "120, 100", "60, 300"})
    void should_launch_one_worker_for_one_that_stops_for_10_s(int rate, int serviceMillis) {
        for (int seed = 1; seed <= 20; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            SimulationSettings settings = SimulationSettings.defaults()
                    .with(SimulationSetting.MIN_WORKERS, 3)
                    .with(SimulationSetting.SERVICE_MILLIS, serviceMillis);
            stopOne(settings, random, () -> (long) (-Math.log(1 - random.nextDouble()) / rate * SECOND));
        }
    }

    /**
     * Requests are queued until its replacement has started, and fill all streams when it has. So
     * the queue is not empty yet, but it is about to be.
     */
    @ParameterizedTest
    @CsvSource({"110, 0.7", "110, 2.5", "110, 6", "119, 0.7", "119, 2.5", "119, 6"})
    void should_launch_one_worker_for_one_without_which_there_is_no_room(int rate, double startSeconds) {
        for (int seed = 1; seed <= 20; seed++) {
            SimulationSettings settings = SimulationSettings.defaults()
                    .with(SimulationSetting.MIN_WORKERS, 3)
                    .with(SimulationSetting.SERVICE_MILLIS, 200)
                    .with(SimulationSetting.SERVICE_SIGMA, 0)
                    .with(SimulationSetting.COLD_START_SECONDS, startSeconds);
            stopOne(settings, new SplittableRandom(seed), () -> SECOND / rate);
        }
    }

    /** @param interval returns the time until the next request */
    private static void stopOne(SimulationSettings settings, SplittableRandom random, LongSupplier interval) {
        EventQueue time = new EventQueue();
        DispatchPath path = new DispatchPath(time, settings, random);
        time.runUntil(20 * SECOND);
        arrive(time, path, interval, 120 * SECOND);
        time.runUntil(60 * SECOND);
        int before = path.launchNanos.size();

        path.stop(10 * SECOND);

        time.runUntil(130 * SECOND);
        List<Long> since = path.launchNanos.subList(before, path.launchNanos.size());
        assertThat(since).as("launches after %d before, since 60 s", before).hasSizeLessThanOrEqualTo(1);
        assertThat(path.tally.answered).isEqualTo(path.tally.arrived);
    }

    private static void arrive(EventQueue time, DispatchPath path, LongSupplier interval, long untilNanos) {
        time.after(interval.getAsLong(), () -> {
            if (time.nowNanos() < untilNanos) {
                path.onRequest(Path.Caller.NOBODY);
                arrive(time, path, interval, untilNanos);
            }
        });
    }

    @Test
    void should_scale_to_zero() {
        SimulationSettings settings = SimulationSettings.defaults()
                .with(SimulationSetting.DURATION_SECONDS, 30)
                .with(SimulationSetting.TAIL_SECONDS, 450);

        Simulation run = Simulation.run(Scenario.THROTTLED, settings);

        assertThat(looks(run, 10, 30))
                .allSatisfy(look -> assertThat(look.ready()).isPositive());
        assertThat(looks(run, 300, 328))
                .allSatisfy(look -> assertThat(look.ready()).isPositive());
        assertThat(looks(run, 440, 480))
                .allSatisfy(look -> assertThat(look.alive()).isZero());
    }

    @Test
    void should_give_up_workers_slowly() {
        Simulation run = Simulation.run(Scenario.SPIKE, Scenario.SPIKE.settings());
        double spikeEnd = 240;
        int atPeak = looks(run, spikeEnd - 2, spikeEnd).get(0).ready();

        assertThat(looks(run, spikeEnd, spikeEnd + 55))
                .allSatisfy(look -> assertThat(look.ready()).isGreaterThanOrEqualTo(atPeak - 1));
        List<Look> looks = run.dispatch.timeline.counted();
        assertThat(looks.get(looks.size() - 1).ready()).isBetween(1, 3);
        for (double second = 0; second < 899; second++) {
            List<Look> within = looks(run, second, second + 1);
            int before = within.get(0).ready();
            assertThat(within.get(within.size() - 1).ready())
                    .as("ready after second %s", second)
                    .isGreaterThanOrEqualTo((int) (before * 0.8) - 2);
        }
    }

    @Test
    void should_lose_no_request_to_a_deadline() {
        SimulationSettings settings = Scenario.CHURN
                .settings()
                .with(SimulationSetting.DURATION_SECONDS, 1200)
                .with(SimulationSetting.SERVICE_SIGMA, 0.5)
                .with(SimulationSetting.DEADLINE_SECONDS, 120);

        Simulation run = Simulation.run(Scenario.CHURN, settings);

        assertThat(run.dispatch.tally.answered)
                .isEqualTo(run.dispatch.tally.arrived)
                .isGreaterThan(100_000);
        assertThat(run.dispatch.tally.launches).isGreaterThan(10 * run.dispatch.timeline.fewestReady());
        // No request waits because of a replacement: new workers are ready before the old ones end.
        assertThat(looks(run, 60, 1200))
                .allSatisfy(look -> assertThat(look.pending()).isLessThan(20));
    }

    @Test
    void should_show_requests_cut_when_they_outlive_their_worker() {
        SimulationSettings settings = Scenario.CHURN
                .settings()
                .with(SimulationSetting.DURATION_SECONDS, 300)
                .with(SimulationSetting.SERVICE_MILLIS, 200_000)
                .with(SimulationSetting.RATE, 1)
                .with(SimulationSetting.PEAK_RATE, 1)
                .with(SimulationSetting.DEADLINE_SECONDS, 60);

        assertThat(Simulation.run(Scenario.CHURN, settings).dispatch.tally.cut).isPositive();
    }

    @Test
    void should_live_with_what_the_account_allows_and_take_more_when_it_does() {
        SimulationSettings settings = Scenario.THROTTLED.settings().with(SimulationSetting.DURATION_SECONDS, 400);

        Simulation run = Simulation.run(Scenario.THROTTLED, settings);

        assertThat(looks(run, 10, 300))
                .allSatisfy(look -> assertThat(look.ready()).isEqualTo(8));
        // The pause after a throttle is random, and at most a minute.
        assertThat(looks(run, 370, 400)).allSatisfy(look -> {
            assertThat(look.ready()).isGreaterThanOrEqualTo(19);
            assertThat(look.pending()).isZero();
        });
        // A few launches per minute, not one launch for each queued request.
        assertThat(run.dispatch.tally.launchThrottles).isBetween(10L, 400L);
    }

    @Test
    void should_drive_ten_thousand_workers() {
        SimulationSettings settings = Scenario.LARGE.settings().with(SimulationSetting.DURATION_SECONDS, 20);

        Simulation run = Simulation.run(Scenario.LARGE, settings);

        assertThat(run.dispatch.timeline.mostReady()).isBetween(9_500, 12_500);
        assertThat(looks(run, 15, 20))
                .allSatisfy(look -> assertThat(look.pending()).isZero());
        assertThat(run.dispatch.tally.answered)
                .isEqualTo(run.dispatch.tally.arrived)
                .isGreaterThan(300_000);
    }

    @Test
    void should_bill_the_direct_path_by_the_millisecond_and_for_its_cold_starts() {
        SimulationSettings settings = direct().with(SimulationSetting.SERVICE_MILLIS, 99.5)
                .with(SimulationSetting.SERVICE_SIGMA, 0)
                .with(SimulationSetting.DIRECT_MEGABYTES, 2048)
                .with(SimulationSetting.DIRECT_COLD_START_SECONDS, 2)
                .with(SimulationSetting.COLD_START_SIGMA, 0);

        SimulationTally tally = Simulation.run(Scenario.SCALE_UP, settings).direct.tally;

        // 2,099.5 ms, then nine times 99.5 ms, each rounded up, with 2 GB.
        assertThat(tally.gbSeconds).isCloseTo(2 * (2.1 + 9 * 0.1), within(1e-9));
        assertThat(tally.launches).isEqualTo(1);
        assertThat(tally.invokes).isEqualTo(10);
    }

    @Test
    void should_forget_idle_environments() {
        SimulationSettings settings = SimulationSettings.defaults()
                .with(SimulationSetting.RATE, 0.02)
                .with(SimulationSetting.PEAK_RATE, 0.02)
                .with(SimulationSetting.DURATION_SECONDS, 10_000);

        SimulationTally kept = Simulation.run(
                        Scenario.THROTTLED, settings.with(SimulationSetting.DIRECT_KEPT_SECONDS, 1e5))
                .direct
                .tally;
        SimulationTally dropped = Simulation.run(
                        Scenario.THROTTLED, settings.with(SimulationSetting.DIRECT_KEPT_SECONDS, 1))
                .direct
                .tally;

        assertThat(kept.arrived).isEqualTo(dropped.arrived).isGreaterThan(100);
        assertThat(kept.launches).isLessThan(5);
        assertThat(dropped.launches).isGreaterThan(kept.arrived * 9 / 10);
    }

    private static SimulationSettings direct() {
        return Scenario.SCALE_UP
                .settings()
                .with(SimulationSetting.IN_FLIGHT, 1)
                .with(SimulationSetting.REQUESTS, 10)
                .with(SimulationSetting.DIRECT_SERVICE_MILLIS, 0)
                .with(SimulationSetting.DIRECT_WARM, 0);
    }

    @Test
    void should_slow_down_a_worker_that_has_more_than_its_processor_carries() {
        SimulationSettings settings = Scenario.SCALE_UP_SMALL
                .settings()
                .with(SimulationSetting.IN_FLIGHT, 4)
                .with(SimulationSetting.MIN_WORKERS, 1)
                .with(SimulationSetting.MAX_WORKERS, 1)
                .with(SimulationSetting.SERVICE_MILLIS, 100)
                .with(SimulationSetting.SERVICE_SIGMA, 0)
                .with(SimulationSetting.CONTENTION_ABOVE, 2);

        SimulationTally tally = Simulation.run(Scenario.SCALE_UP_SMALL, settings).dispatch.tally;

        assertThat(tally.latency.getMaxValue() / 1e6).isCloseTo(200, within(1.0));
        assertThat(tally.answersPerSecond()).isCloseTo(20, within(2.0));
    }

    private static List<Look> looks(Simulation run, double fromSeconds, double toSeconds) {
        List<Look> found = run.dispatch.timeline.counted().stream()
                .filter(look -> look.seconds() >= fromSeconds && look.seconds() <= toSeconds)
                .toList();
        assertThat(found).isNotEmpty();
        return found;
    }
}
