package io.lambdadispatcher.core.internal.loop;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class TimerHeapTest {
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final List<String> due = new ArrayList<>();
    private final TimerHeap<Named> heap =
            new TimerHeap<>(channel.eventLoop(), (timer, now) -> due.add(timer.name + "@" + (now - start())));
    private long start;

    private static final class Named extends TimerHeap.Timer {
        final String name;

        Named(String name) {
            this.name = name;
        }
    }

    private long start() {
        return start;
    }

    @BeforeEach
    void freeze() {
        channel.freezeTime();
        start = channel.eventLoop().ticker().nanoTime();
    }

    private void pass(long nanos) {
        channel.advanceTimeBy(nanos, TimeUnit.NANOSECONDS);
        channel.runScheduledPendingTasks();
    }

    @Test
    void should_call_the_other_timers_after_an_exception() {
        TimerHeap<Named> throwing = new TimerHeap<>(channel.eventLoop(), (timer, now) -> {
            due.add(timer.name);
            if (due.size() == 1) {
                throw new IllegalStateException("of the test");
            }
        });
        throwing.set(new Named("a"), start + 10);
        throwing.set(new Named("b"), start + 10);
        pass(10);
        pass(0);
        assertThat(due).containsExactly("a", "b");
    }

    @Test
    void should_call_timers_in_order_of_time_and_forget_cancelled_ones() {
        Named a = new Named("a");
        Named b = new Named("b");
        Named c = new Named("c");
        heap.set(a, start + 30);
        heap.set(b, start + 10);
        heap.set(c, start + 20);
        heap.cancel(c);
        heap.cancel(c);
        pass(10);
        pass(10);
        pass(10);
        assertThat(due).containsExactly("b@10", "a@30");
        assertThat(heap.size()).isZero();
    }

    @Test
    void should_move_a_timer_both_ways() {
        Named a = new Named("a");
        Named b = new Named("b");
        heap.set(a, start + 10);
        heap.set(b, start + 20);
        heap.set(a, start + 30);
        heap.set(b, start + 5);
        pass(5);
        pass(5);
        pass(20);
        assertThat(due).containsExactly("b@5", "a@30");
    }

    @Test
    void should_serve_a_timer_that_its_listener_sets_in_the_past_once_a_turn() {
        int[] calls = new int[1];
        Named timer = new Named("a");
        List<TimerHeap<Named>> self = new ArrayList<>();
        TimerHeap<Named> again = new TimerHeap<>(channel.eventLoop(), (each, now) -> {
            if (++calls[0] < 3) {
                self.get(0).set(each, now - 1);
            }
        });
        self.add(again);
        again.set(timer, start + 1);
        pass(1);
        pass(1);
        pass(1);
        assertThat(calls[0]).isEqualTo(3);
        assertThat(again.size()).isZero();
    }

    @Test
    void should_agree_with_a_map_after_random_steps() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        Named[] timers = new Named[50];
        Map<String, Long> expected = new HashMap<>();
        for (int i = 0; i < timers.length; i++) {
            timers[i] = new Named(Integer.toString(i));
        }
        long now = 0;
        for (int step = 0; step < 20_000; step++) {
            Named timer = timers[random.nextInt(timers.length)];
            switch (random.nextInt(4)) {
                case 0, 1 -> {
                    long at = now + 1 + random.nextInt(100);
                    heap.set(timer, start + at);
                    expected.put(timer.name, at);
                }
                case 2 -> {
                    heap.cancel(timer);
                    expected.remove(timer.name);
                }
                default -> {
                    now++;
                    due.clear();
                    pass(1);
                    List<String> should = new ArrayList<>();
                    for (Map.Entry<String, Long> each : expected.entrySet()) {
                        if (each.getValue() <= now) {
                            should.add(each.getKey() + "@" + now);
                        }
                    }
                    long time = now;
                    expected.values().removeIf(at -> at <= time);
                    assertThat(due).as("seed %d", seed).containsExactlyInAnyOrderElementsOf(should);
                }
            }
            assertThat(heap.size()).as("seed %d", seed).isEqualTo(expected.size());
        }
    }
}
