package io.lambdadispatcher.core.internal.policy;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.RetryDenial;
import org.junit.jupiter.api.Test;

class AttemptBudgetTest {
    private static int taken(AttemptBudget budget) {
        int taken = 0;
        while (budget.denial(ExtraAttempt.HEDGE, false) == null) {
            budget.take();
            taken++;
        }
        return taken;
    }

    @Test
    void should_allow_a_part_of_the_requests_and_save_a_hundred() {
        AttemptBudget budget = new AttemptBudget(0.1);
        assertThat(taken(budget)).isEqualTo(10);
        for (int i = 0; i < 55; i++) {
            budget.onRequest();
        }
        assertThat(taken(budget)).isEqualTo(5);
        for (int i = 0; i < 10_000; i++) {
            budget.onRequest();
        }
        assertThat(taken(budget)).isEqualTo(100);
        assertThat(budget.denial(ExtraAttempt.LOST, false)).isEqualTo(RetryDenial.BUDGET);
    }

    @Test
    void should_allow_nothing_without_a_budget() {
        AttemptBudget budget = new AttemptBudget(0);
        budget.onRequest();
        assertThat(taken(budget)).isZero();
        AttemptBudget ended = new AttemptBudget(1);
        ended.setPerRequest(0);
        assertThat(taken(ended)).isZero();
    }

    @Test
    void should_only_replace_attempts_while_requests_are_queued() {
        AttemptBudget budget = new AttemptBudget(1);
        for (ExtraAttempt reason : ExtraAttempt.values()) {
            boolean replaces = reason == ExtraAttempt.LOST || reason == ExtraAttempt.REFUSED;
            assertThat(budget.denial(reason, true)).isEqualTo(replaces ? null : RetryDenial.QUEUED);
        }
    }
}
