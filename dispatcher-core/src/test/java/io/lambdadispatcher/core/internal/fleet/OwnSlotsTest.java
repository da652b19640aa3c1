package io.lambdadispatcher.core.internal.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.internal.capacity.FleetReport.SlotUse;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OwnSlotsTest {
    private static final long NOW = 1_790_000_000_123L;
    private static final long MINUTE = 60_000;
    private static final BudgetLimits LIMITS = new BudgetLimits(10, 20, 300, 0, 1024, MINUTE, 14 * MINUTE, null);

    private final Budget budget = new Budget();
    private final OwnSlots own = new OwnSlots("a");

    private void grant(String... ids) {
        budget.grant(List.of(ids), "a", NOW, LIMITS);
        assertThat(own.addNew(budget)).isEmpty();
    }

    private boolean change() {
        return own.change(budget, NOW, LIMITS);
    }

    @Test
    void should_launch_each_granted_worker_once() {
        grant("w0", "w1");
        budget.grant(List.of("w2"), "b", NOW, LIMITS);
        assertThat(own.addNew(budget)).isEmpty();
        assertThat(own.free()).isEqualTo(2);
        assertThat(List.of(own.take(), own.take())).containsExactly("w0", "w1");
        assertThat(own.free()).isZero();
        assertThatThrownBy(own::take).isInstanceOf(IllegalStateException.class);
        assertThat(change()).isFalse();
    }

    @Test
    void should_write_what_has_become_of_a_worker_until_the_budget_says_so() {
        grant("w0");
        own.take();
        own.onUse(new SlotUse("w0", false, true, 0));
        assertThat(change()).isFalse();
        own.onUse(new SlotUse("w0", true, true, 0));
        assertThat(change()).isTrue();
        assertThat(budget.slot("w0")).matches(Slot::seen);
        assertThat(change()).isFalse();

        own.onUse(new SlotUse("w0", true, false, 0));
        assertThat(own.leaving(budget)).isOne();
        assertThat(change()).isTrue();
        assertThat(budget.slot("w0")).matches(Slot::replaced);
        assertThat(own.leaving(budget)).isZero();

        own.onGoodbye("w0", NOW);
        own.onUse(new SlotUse("w0", true, true, 0));
        assertThat(own.change(budget, NOW + 29_999, LIMITS)).isFalse();
        assertThat(own.change(budget, NOW + 30_000, LIMITS)).isTrue();
        assertThat(budget.slots()).isEmpty();
        assertThat(own.removeGone(budget)).isEmpty();
        assertThat(own.size()).isZero();
    }

    @Test
    void should_return_a_slot_that_is_too_old_for_a_launch() {
        grant("w0");
        own.returnOld(budget, NOW + 10_000, LIMITS);
        assertThat(own.free()).isOne();
        own.returnOld(budget, NOW + 10_001, LIMITS);
        assertThat(own.free()).isZero();
        assertThat(own.unused()).isOne();
        assertThat(change()).isTrue();
        assertThat(budget.slots()).isEmpty();
    }

    @Test
    void should_return_what_is_granted_after_the_dispatcher_has_stopped() {
        grant("w0", "w1");
        own.take();
        own.stop();
        grant("w2");
        assertThat(own.free()).isZero();
        assertThat(change()).isTrue();
        assertThat(budget.slots()).containsOnlyKeys("w0");
    }

    @Test
    void should_name_workers_that_were_adopted_here_or_elsewhere() {
        budget.grant(List.of("w0", "w1"), "b", NOW, LIMITS);
        budget.markSeen("w0");
        budget.adopt("w0", "a");
        budget.adopt("w1", "a");
        assertThat(own.addNew(budget)).containsExactly("w0");
        assertThat(own.free()).isOne();

        budget.adopt("w0", "c");
        budget.takeBack("w1");
        assertThat(own.removeGone(budget)).containsExactly("w0");
        assertThat(own.size()).isZero();
        assertThat(own.addNew(budget)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        // A launcher reports the exits of its workers.
        "false, false, false, false",
        "true, false, false, false",
        // It does not if it has lost them, but those that have not connected are rejected then.
        "true, true, false, true",
        "false, true, false, false",
        // Before that, they may open connections to something else.
        "false, true, true, true",
    })
    void should_keep_the_slot_of_a_worker_that_may_run(boolean seen, boolean lost, boolean mayStart, boolean remains) {
        grant("w0");
        own.take();
        own.onUse(new SlotUse("w0", seen, true, 0));
        if (lost) {
            own.onLost("w0");
        }
        own.onKnown(Set.of("w0"), mayStart);
        assertThat(own.leaving(budget)).isZero();
        own.onKnown(Set.of(), mayStart);
        assertThat(own.leaving(budget)).isOne();
        change();
        assertThat(budget.slot("w0") != null).isEqualTo(remains);
    }

    /** Nobody would end it later. */
    @Test
    void should_end_the_slot_of_a_worker_that_says_goodbye_to_who_is_leaving() {
        grant("w0");
        own.take();
        own.stop();
        own.onGoodbye("w0", NOW);
        assertThat(change()).isTrue();
        assertThat(budget.slots()).isEmpty();
    }

    /** Another dispatcher had adopted the worker in between. */
    @Test
    void should_end_the_slot_of_an_adopted_worker_whose_exit_is_reported() {
        budget.grant(List.of("w0"), "b", NOW, LIMITS);
        budget.markSeen("w0");
        budget.adopt("w0", "a");
        assertThat(own.addNew(budget)).containsExactly("w0");
        own.onKnown(Set.of("w0"), false);
        own.onExit("w0");
        assertThat(change()).isTrue();
        assertThat(budget.slots()).isEmpty();
    }

    @Test
    void should_not_take_a_slot_for_ended_that_was_never_used() {
        grant("w0");
        own.onKnown(Set.of(), false);
        assertThat(own.free()).isOne();
    }
}
