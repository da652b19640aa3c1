package io.lambdadispatcher.core.observe;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ServiceTimesTest {

    @ParameterizedTest
    @ValueSource(longs = {1500, 2047, 2048, 65_000, 1_000_000, 34_567_890, 5_000_000_000L, 899_000_000_000L})
    void should_know_a_time_within_a_fifth(long nanos) {
        ServiceTimes times = new ServiceTimes();
        times.record(nanos);

        assertThat(times.quantileNanos(0.99)).isBetween(nanos, nanos + nanos / 4 + 1);
    }

    @Test
    void should_find_quantiles() {
        ServiceTimes times = new ServiceTimes();
        for (int i = 1; i <= 1000; i++) {
            times.record(TimeUnit.MILLISECONDS.toNanos(i));
        }

        assertThat(TimeUnit.NANOSECONDS.toMillis(times.quantileNanos(0.5))).isBetween(500L, 600L);
        assertThat(TimeUnit.NANOSECONDS.toMillis(times.quantileNanos(0.99))).isBetween(990L, 1200L);
    }

    @Test
    void should_take_times_beyond_both_ends() {
        ServiceTimes times = new ServiceTimes();
        times.record(0);
        times.record(-5);
        times.record(Long.MAX_VALUE);

        assertThat(times.count()).isEqualTo(3);
        assertThat(times.quantileNanos(0.1)).isPositive();
    }

    @Test
    void should_forget_half() {
        ServiceTimes times = new ServiceTimes();
        for (int i = 0; i < 10; i++) {
            times.record(5000);
        }
        times.halve();

        assertThat(times.count()).isEqualTo(5);
    }

    @Test
    void should_know_nothing_at_first() {
        assertThat(new ServiceTimes().quantileNanos(0.99)).isZero();
    }
}
