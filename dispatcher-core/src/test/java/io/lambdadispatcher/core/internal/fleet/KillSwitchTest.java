package io.lambdadispatcher.core.internal.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class KillSwitchTest {
    private final KillSwitch killSwitch = new KillSwitch();
    private final Budget budget = new Budget();

    @Test
    void should_write_what_was_set_until_the_budget_says_so() {
        killSwitch.set(false, 0);
        assertThat(killSwitch.onBudget(budget)).as("an older budget").isFalse();
        assertThat(killSwitch.change(budget)).isTrue();
        assertThat(killSwitch.change(budget)).isFalse();
        assertThat(killSwitch.onBudget(budget)).isTrue();
        assertThat(killSwitch.isLaunching()).isFalse();

        // Another dispatcher switches it back.
        budget.setLaunching(true);
        assertThat(killSwitch.change(budget)).isFalse();
        assertThat(killSwitch.onBudget(budget)).isTrue();
        assertThat(killSwitch.isLaunching()).isTrue();
        assertThat(killSwitch.onBudget(budget)).isFalse();
    }

    /** A read that began earlier may miss what another dispatcher has written. */
    @Test
    void should_need_no_write_if_a_later_read_says_the_same() {
        killSwitch.set(true, 5);
        killSwitch.onRead(budget, 4);
        budget.setLaunching(false);
        assertThat(killSwitch.change(budget)).as("still wanted").isTrue();

        killSwitch.onRead(budget, 5);
        budget.setLaunching(false);
        assertThat(killSwitch.change(budget)).isFalse();
        assertThat(killSwitch.onBudget(budget)).isTrue();
    }
}
