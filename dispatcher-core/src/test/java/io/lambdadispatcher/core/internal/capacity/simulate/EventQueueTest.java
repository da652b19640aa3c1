package io.lambdadispatcher.core.internal.capacity.simulate;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class EventQueueTest {
    private final EventQueue time = new EventQueue();
    private final List<Object> seen = new ArrayList<>();

    @Test
    void should_run_events_of_one_moment_in_the_order_they_came() {
        time.at(5, () -> seen.add("b"));
        time.at(3, () -> seen.add("a"));
        time.at(5, () -> seen.add("c"));
        time.at(5, () -> time.after(0, () -> seen.add("e")));
        time.at(5, () -> seen.add("d"));

        time.runUntil(5);

        assertThat(seen).containsExactly("a", "b", "c", "d", "e");
    }

    @Test
    void should_stop_in_time_and_keep_the_rest() {
        time.at(10, () -> seen.add(time.nowNanos()));
        time.at(11, () -> seen.add(time.nowNanos()));

        time.runUntil(10);

        assertThat(seen).containsExactly(10L);
        assertThat(time.nowNanos()).isEqualTo(10);
        assertThat(time.size()).isEqualTo(1);
    }

    @Test
    void should_not_go_back() {
        time.runUntil(100);
        time.at(50, () -> seen.add(time.nowNanos()));

        time.runUntil(200);

        assertThat(seen).containsExactly(100L);
    }

    @Test
    void should_sort_any_number_of_events() {
        Random random = new Random(7);
        List<Long> expected = new ArrayList<>();
        for (int i = 0; i < 10_000; i++) {
            long when = random.nextInt(3_000);
            expected.add(when);
            time.at(when, () -> seen.add(time.nowNanos()));
        }
        expected.sort(null);

        time.runUntil(3_000);

        assertThat(seen).isEqualTo(expected);
    }
}
