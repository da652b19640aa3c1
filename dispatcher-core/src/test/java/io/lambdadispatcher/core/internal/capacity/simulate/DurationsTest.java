package io.lambdadispatcher.core.internal.capacity.simulate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class DurationsTest {
    private static final int DRAWS = 100_001;

    private final SplittableRandom random = new SplittableRandom(1);

    @Test
    void should_have_the_median_and_the_mean_of_a_lognormal() {
        Durations durations = Durations.ofMillis(0, 100, 0.5);

        long[] draws = LongStream.generate(() -> durations.draw(random))
                .limit(DRAWS)
                .sorted()
                .toArray();

        assertThat(draws[DRAWS / 2] / 1e6).isCloseTo(100, within(1.5));
        assertThat(LongStream.of(draws).average().orElseThrow() / 1e6)
                .isCloseTo(100 * Math.exp(0.5 * 0.5 / 2), within(1.5));
    }

    @Test
    void should_never_fall_below_the_fixed_part() {
        Durations durations = Durations.ofMillis(30, 1, 2);

        assertThat(LongStream.generate(() -> durations.draw(random)).limit(DRAWS))
                .allMatch(nanos -> nanos >= 30_000_000);
    }

    @Test
    void should_always_be_the_same_without_spread() {
        Durations durations = Durations.ofMillis(30, 12, 0);

        assertThat(LongStream.generate(() -> durations.draw(random)).limit(100)).containsOnly(42_000_000L);
    }

    @Test
    void should_name_what_is_wrong() {
        assertThatThrownBy(() -> Durations.ofMillis(0, 1, -1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("-1");
    }
}
