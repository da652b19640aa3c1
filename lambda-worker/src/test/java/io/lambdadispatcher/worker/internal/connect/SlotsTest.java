package io.lambdadispatcher.worker.internal.connect;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class SlotsTest {
    private final List<String> calls = new ArrayList<>();
    private long nanos;
    private final Slots slots = new Slots(() -> nanos);
    private final Slots.Share a = share("a");
    private final Slots.Share b = share("b");
    private final Slots.Share c = share("c");

    private Slots.Share share(String name) {
        return slots.join(0, () -> calls.add(name));
    }

    private void pass(long millis) {
        nanos += TimeUnit.MILLISECONDS.toNanos(millis);
    }

    private static int take(Slots.Share share, int most) {
        int taken = 0;
        while (taken < most && share.take(true)) {
            taken++;
        }
        return taken;
    }

    @Test
    void should_give_one_connection_all_slots_that_no_other_wants() {
        slots.add(3);
        assertThat(take(a, 10)).isEqualTo(3);
        a.give();
        assertThat(a.take(true)).isTrue();
        assertThat(calls).isEmpty();
    }

    @Test
    void should_count_requests_from_before_as_slots_in_use() {
        slots.add(3);
        Slots.Share old = slots.join(2, () -> calls.add("old"));
        assertThat(take(a, 10)).isEqualTo(1);
        old.give();
        assertThat(calls).as("a has its share of 3 slots for 2 connections").isEmpty();
        assertThat(take(a, 10)).isEqualTo(1);
        assertThat(old.take(true)).isFalse();
        a.give();
        assertThat(a.take(true)).isTrue();
        old.give();
        assertThat(a.take(true)).isTrue();
        assertThat(old.take(true)).isFalse();
        a.give();
        assertThat(calls).containsExactly("old");
    }

    @Test
    void should_let_connections_take_turns_on_one_slot() {
        slots.add(1);
        assertThat(a.take(true)).isTrue();
        assertThat(b.take(true)).isFalse();
        assertThat(c.take(true)).isFalse();
        List<String> served = new ArrayList<>(List.of("a"));
        for (int i = 0; i < 6; i++) {
            Slots.Share last = share(served);
            last.give();
            assertThat(last.take(true))
                    .as("the next request of the same dispatcher")
                    .isFalse();
            served.add(calls.get(i));
            assertThat(share(served).take(true)).isTrue();
            pass(5);
        }
        assertThat(served).containsExactly("a", "b", "c", "a", "b", "c", "a");
    }

    private Slots.Share share(List<String> served) {
        return switch (served.get(served.size() - 1)) {
            case "a" -> a;
            case "b" -> b;
            default -> c;
        };
    }

    @Test
    void should_call_until_the_connection_has_its_equal_share() {
        slots.add(8);
        assertThat(take(a, 10)).isEqualTo(8);
        assertThat(b.take(true)).isFalse();
        for (int i = 0; i < 8; i++) {
            a.give();
            if (calls.size() > i) {
                assertThat(b.take(true)).isTrue();
            } else {
                assertThat(a.take(true)).as("a slot that is not reserved").isTrue();
            }
        }
        assertThat(calls).containsExactly("b", "b", "b", "b");
    }

    @Test
    void should_free_a_slot_that_the_called_connection_does_not_use() {
        slots.add(1);
        assertThat(a.take(true)).isTrue();
        assertThat(b.take(true)).isFalse();
        a.give();
        pass(20);
        assertThat(a.take(true)).isFalse();
        pass(1);
        assertThat(a.take(true)).isTrue();
        a.give();
        assertThat(calls).as("b is not called again").containsExactly("b");
        assertThat(b.take(true)).isTrue();
    }

    @Test
    void should_reserve_nothing_for_a_connection_that_cannot_be_called() {
        slots.add(1);
        assertThat(a.take(true)).isTrue();
        assertThat(b.take(false)).isFalse();
        a.give();
        assertThat(calls).isEmpty();
        assertThat(a.take(true)).isTrue();
    }

    @Test
    void should_forget_a_refusal_after_a_while() {
        slots.add(1);
        assertThat(a.take(true)).isTrue();
        assertThat(b.take(true)).isFalse();
        pass(201);
        a.give();
        assertThat(calls).isEmpty();
        assertThat(a.take(true)).isTrue();
    }

    @Test
    void should_free_what_is_reserved_for_a_connection_that_closes() {
        slots.add(1);
        assertThat(a.take(true)).isTrue();
        assertThat(b.take(true)).isFalse();
        a.give();
        b.close();
        assertThat(a.take(true)).isTrue();
        assertThat(c.take(true)).isFalse();
        c.close();
        a.give();
        assertThat(calls).containsExactly("b");
        assertThat(a.take(true)).isTrue();
    }

    @Test
    void should_call_for_each_slot_that_a_higher_limit_adds() {
        slots.add(9);
        slots.limit(1);
        assertThat(a.take(true)).isTrue();
        assertThat(b.take(true)).isFalse();
        assertThat(c.take(true)).isFalse();

        slots.limit(2);
        assertThat(calls).containsExactly("b");
        assertThat(a.take(true)).as("the slot is reserved").isFalse();
        assertThat(b.take(true)).isTrue();

        slots.limit(9);
        assertThat(calls).containsExactly("b", "c", "a", "b");
        assertThat(take(c, 10)).as("one is reserved for each of the others").isEqualTo(5);
    }

    @Test
    void should_call_nobody_for_a_lower_limit() {
        slots.add(9);
        slots.limit(3);
        assertThat(take(a, 3)).isEqualTo(3);
        assertThat(b.take(true)).isFalse();
        slots.limit(2);
        assertThat(calls).isEmpty();
    }

    @Test
    void should_give_no_more_slots_than_the_limit_and_all_of_them_without_it() {
        slots.limit(10);
        slots.add(5);
        assertThat(take(a, 10)).isEqualTo(5);
        slots.limit(2);
        assertThat(b.take(true)).isFalse();
        for (int i = 0; i < 3; i++) {
            a.give();
        }
        assertThat(calls).as("there are as many requests as the limit permits").isEmpty();
        assertThat(b.take(true)).isFalse();
        a.give();
        assertThat(calls).containsExactly("b");
        assertThat(b.take(true)).isTrue();
        slots.limit(5);
        assertThat(take(a, 10)).as("one is reserved for b").isEqualTo(2);
        assertThat(b.take(true)).isTrue();
    }
}
