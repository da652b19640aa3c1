package io.lambdadispatcher.core.internal.capacity;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;

class RecentTimesTest {
    private final RecentTimes times = new RecentTimes();
    private final Random random = new Random(7);

    private void record(int count, double meanNanos) {
        for (int i = 0; i < count; i++) {
            times.record((long) (-Math.log(1 - random.nextDouble()) * meanNanos));
        }
    }

    @Test
    void should_know_nothing_of_a_few() {
        record(RecentTimes.FEWEST - 1, 1e6);
        assertThat(times.quantileNanos(0.95)).isZero();
        record(1, 1e6);
        assertThat(times.quantileNanos(0.95)).isPositive();
    }

    @Test
    void should_estimate_quantiles_and_follow_a_change() {
        record(5_000, 1e6);
        assertThat(times.quantileNanos(0.95)).isBetween(2_800_000L, 4_000_000L);
        assertThat(times.quantileNanos(0.5)).isBetween(600_000L, 950_000L);
        record(5_000, 10e6);
        assertThat(times.quantileNanos(0.95)).isBetween(27_000_000L, 40_000_000L);
    }
}
