package io.lambdadispatcher.bench.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class WaitTest {
    @Test
    void should_have_its_median_in_the_middle() {
        Wait wait = new Wait(45, 0.3);
        Random random = new Random(1);
        long[] drawn = LongStream.range(0, 10_001)
                .map(i -> wait.nextNanos(random))
                .sorted()
                .toArray();

        assertThat(drawn[5_000] / 1e6).isCloseTo(45, within(1.0));
        assertThat(drawn[9_900] / 1e6).isCloseTo(45 * Math.exp(0.3 * 2.326), within(5.0));
    }

    @Test
    void should_always_be_the_median_without_sigma() {
        assertThat(new Wait(1.5, 0).nextNanos()).isEqualTo(1_500_000);
        assertThat(Wait.none().nextNanos()).isZero();
    }

    @Test
    void should_name_what_is_out_of_range() {
        assertThatThrownBy(() -> new Wait(-1, 0)).hasMessageContaining("-1");
        assertThatThrownBy(() -> new Wait(1, Double.NaN)).hasMessageContaining("NaN");
    }
}
