package io.lambdadispatcher.core.internal.assembly;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.FleetSnapshot;
import io.lambdadispatcher.core.observe.FleetSnapshot.FunctionSlots;
import io.lambdadispatcher.core.observe.FleetSnapshot.Member;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class TakeoverRuleTest {
    private static final FleetSnapshot UNKNOWN = new FleetSnapshot("me", false, -1, List.of(), List.of(), List.of());
    private static final Set<String> NONE = Set.of();

    private final MockTicker ticker = Ticker.newMockTicker();
    private final TakeoverRule rule = new TakeoverRule(ticker);

    private static Member member(String id, boolean alive) {
        return new Member(id, alive, List.of(), "", "", 0, Map.of());
    }

    /** A fleet in which function "f" has workers, and "g" none. */
    private static FleetSnapshot fleet(boolean otherAlive) {
        FunctionSlots busy = new FunctionSlots("f", true, 2, 0, 0, 0, 0, 0, null);
        FunctionSlots unused = new FunctionSlots("g", true, 0, 0, 0, 0, 0, 0, null);
        return new FleetSnapshot(
                "me",
                true,
                100,
                List.of(member("me", true), member("other", otherAlive)),
                List.of(busy, unused),
                List.of());
    }

    @Test
    void should_accept_if_alone() {
        assertThat(rule.accepts(fleet(false), false, false, Set.of("f"))).isTrue();
    }

    @Test
    void should_wait_until_a_worker_of_the_others_has_connected() {
        assertThat(rule.accepts(UNKNOWN, true, false, Set.of("f"))).isFalse();
        assertThat(rule.accepts(fleet(true), true, false, Set.of("f", "g"))).isFalse();
        assertThat(rule.accepts(fleet(true), true, false, Set.of("g"))).isTrue();
        assertThat(rule.accepts(fleet(true), true, false, NONE)).isTrue();
    }

    @Test
    void should_not_wait_if_no_function_needs_workers_of_the_others() {
        assertThat(rule.accepts(UNKNOWN, true, false, NONE)).isTrue();
    }

    @Test
    void should_not_wait_for_workers_of_the_others_forever() {
        ticker.advance(TakeoverRule.LONGEST_WAIT_NANOS - 1, TimeUnit.NANOSECONDS);
        assertThat(rule.accepts(fleet(true), true, false, Set.of("f"))).isFalse();
        ticker.advance(1, TimeUnit.NANOSECONDS);
        assertThat(rule.accepts(fleet(true), true, false, Set.of("f"))).isTrue();
        assertThat(rule.accepts(UNKNOWN, true, false, Set.of("f"))).isTrue();
    }

    @Test
    void should_not_wait_for_a_ledger_that_fails() {
        assertThat(rule.accepts(UNKNOWN, true, true, Set.of("f"))).isTrue();
    }

    @Test
    void should_never_accept_without_the_minimum_beside_another() {
        ticker.advance(2 * TakeoverRule.LONGEST_WAIT_NANOS, TimeUnit.NANOSECONDS);
        assertThat(rule.accepts(fleet(true), false, true, NONE)).isFalse();
        assertThat(rule.accepts(UNKNOWN, false, true, NONE)).isFalse();
    }
}
