package io.lambdadispatcher.core.internal.policy;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.RetryDenial;
import io.lambdadispatcher.core.options.AttemptPolicy;
import io.lambdadispatcher.core.options.RetryCondition;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class RetryRuleTest {
    private static final AttemptPolicy ALL =
            AttemptPolicy.builder().retryOn(EnumSet.allOf(RetryCondition.class)).build();

    private static @Nullable RetryDenial denial(RetryCondition condition, int attempts, boolean safe, boolean held) {
        return RetryRule.denial(ALL, condition, attempts, safe, held);
    }

    @Test
    void should_allow_what_is_safe_held_and_not_tried_too_often() {
        for (RetryCondition condition : RetryCondition.values()) {
            assertThat(denial(condition, 1, true, true)).isNull();
            assertThat(denial(condition, 2, true, true)).isEqualTo(RetryDenial.MAX_ATTEMPTS);
            assertThat(denial(condition, 1, true, false)).isEqualTo(RetryDenial.BODY_NOT_HELD);
            assertThat(denial(condition, 1, false, true))
                    .isEqualTo(condition == RetryCondition.REFUSED ? null : RetryDenial.NOT_IDEMPOTENT);
            assertThat(RetryRule.denial(
                            AttemptPolicy.builder()
                                    .retryOn(EnumSet.complementOf(EnumSet.of(condition)))
                                    .build(),
                            condition,
                            1,
                            true,
                            true))
                    .isEqualTo(RetryDenial.NOT_ENABLED);
        }
    }

    @Test
    void should_know_the_statuses_that_can_be_retried() {
        for (int status = 100; status < 1000; status++) {
            RetryCondition condition = RetryRule.ofStatus(status);
            assertThat(condition == null ? null : condition.token())
                    .isEqualTo(Set.of(500, 502, 503, 504).contains(status) ? Integer.toString(status) : null);
        }
    }
}
