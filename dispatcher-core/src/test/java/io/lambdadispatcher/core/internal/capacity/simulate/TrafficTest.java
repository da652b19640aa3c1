package io.lambdadispatcher.core.internal.capacity.simulate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class TrafficTest {
    private static final long SECOND = 1_000_000_000;

    private final EventQueue time = new EventQueue();
    private final SplittableRandom random = new SplittableRandom(3);

    @Test
    void should_follow_the_rate() {
        List<Long> arrivals = new ArrayList<>();
        Traffic traffic = new Traffic.Open(1000, seconds -> seconds < 100 ? 1000 : 10, 200 * SECOND);

        traffic.start(time, caller -> arrivals.add(time.nowNanos()), random);
        time.runUntil(300 * SECOND);

        // Six standard deviations of a Poisson distribution.
        assertThat(count(arrivals, 0, 100)).isCloseTo(100_000, within(1_900.0));
        assertThat(count(arrivals, 100, 200)).isCloseTo(1_000, within(190.0));
        assertThat(count(arrivals, 200, 300)).isZero();
    }

    private static double count(List<Long> arrivals, long fromSeconds, long toSeconds) {
        return arrivals.stream()
                .filter(nanos -> nanos >= fromSeconds * SECOND && nanos < toSeconds * SECOND)
                .count();
    }

    @Test
    void should_keep_so_many_under_way_and_send_so_many() {
        int[] underWay = new int[1];
        int[] most = new int[1];
        int[] sent = new int[1];
        Traffic traffic = new Traffic.Closed(8, 100, Long.MAX_VALUE);

        traffic.start(
                time,
                caller -> {
                    sent[0]++;
                    most[0] = Math.max(most[0], ++underWay[0]);
                    time.after(SECOND, () -> {
                        underWay[0]--;
                        caller.onEnd(true);
                    });
                },
                random);
        time.runUntil(12 * SECOND);

        assertThat(traffic.isOver()).isFalse();
        time.runUntil(13 * SECOND);
        assertThat(traffic.isOver()).isTrue();
        assertThat(sent[0]).isEqualTo(100);
        assertThat(most[0]).isEqualTo(8);
    }

    @Test
    void should_pause_after_a_failure() {
        List<Long> sent = new ArrayList<>();
        Traffic traffic = new Traffic.Closed(1, 3, Long.MAX_VALUE);

        traffic.start(
                time,
                caller -> {
                    sent.add(time.nowNanos());
                    caller.onEnd(false);
                },
                random);
        time.runUntil(SECOND);

        assertThat(sent).containsExactly(0L, 100_000_000L, 200_000_000L);
    }
}
