package io.lambdadispatcher.core.internal.capacity.simulate;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.LongSummaryStatistics;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Three dispatchers with one base. */
class FleetSimulationTest {
    private static final int DISPATCHERS = 3;
    private static final int BASE_STREAMS = 40;
    private static final int SEEDS = 20;
    private static final long LONG_NANOS = 600 * FleetRun.SECOND;

    /** Requests take 200 ms, so that the base is full with 200/s. */
    @ParameterizedTest
    @ValueSource(ints = {100, 150, 190, 250, 400})
    void should_not_swing_under_constant_load(int perSecond) {
        for (int seed = 1; seed <= SEEDS; seed++) {
            FleetRun run = new FleetRun(DISPATCHERS, BASE_STREAMS, seed);
            run.evenTraffic(perSecond, 120);
            run.run(20);
            int launches = run.launchNanos.size();
            run.run(100);
            var settled = run.baseBusy.subList(10, 119).stream()
                    .mapToDouble(busy -> busy)
                    .summaryStatistics();
            assertThat(settled.getMax() - settled.getMin()).as("seed %d", seed).isLessThanOrEqualTo(0.1 * BASE_STREAMS);
            assertThat(run.launchNanos).hasSize(launches);
        }
    }

    /** The base is used to 60 % in the mean. Full by chance, it is no reason for a launch. */
    @ParameterizedTest
    @CsvSource({"50, 2", "100, 0", "150, 0"})
    void should_launch_nothing_for_traffic_that_the_base_can_hold(int perSecond, int most) {
        int launches = 0;
        for (int seed = 1; seed <= SEEDS; seed++) {
            FleetRun run = new FleetRun(DISPATCHERS, (int) (perSecond * 0.2 / 0.6 / 2) * 2, seed);
            run.traffic(perSecond, 300);
            run.run(10);
            int before = run.launchNanos.size();
            run.run(290);
            launches += run.launchNanos.size() - before;
        }
        assertThat(launches).isLessThanOrEqualTo(most);
    }

    /** WebSockets and event streams that began on launched workers keep them. */
    @Test
    void should_keep_the_workers_of_long_requests() {
        for (int seed = 1; seed <= SEEDS; seed++) {
            FleetRun run = new FleetRun(DISPATCHERS, BASE_STREAMS, seed);
            for (int i = 0; i < 60; i++) {
                run.time.after(i * FleetRun.SECOND / 10, () -> run.send(LONG_NANOS));
            }
            run.run(30);
            int launches = run.launchNanos.size();
            run.run(300);
            assertThat(run.launchNanos).hasSize(launches);
            assertThat(run.drained).as("seed %d", seed).isLessThanOrEqualTo(launches - 2);
        }
    }

    /** The traffic becomes ten times as much, and some of the new requests are long. */
    @ParameterizedTest
    @ValueSource(ints = {0, 6, 12})
    void should_launch_at_once_when_the_base_is_full(int longRequests) {
        LongSummaryStatistics delays = new LongSummaryStatistics();
        for (int seed = 1; seed <= SEEDS; seed++) {
            FleetRun run = new FleetRun(DISPATCHERS, BASE_STREAMS, seed);
            run.traffic(20, 30);
            run.run(30);
            assertThat(run.launchNanos).isEmpty();
            run.firstWaitNanos = 0;
            for (int i = 0; i < longRequests; i++) {
                run.send(LONG_NANOS);
            }
            run.traffic(230, 60);
            run.run(60);
            delays.accept((run.launchNanos.get(0) - run.firstWaitNanos) / 1_000_000);
        }
        // By chance, a request waits before the base stays full.
        assertThat(delays.getAverage()).isLessThan(100);
        assertThat(delays.getMax()).isLessThan(300);
    }
}
