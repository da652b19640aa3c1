package io.lambdadispatcher.core.internal.policy;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DeadlineRuleTest {
    /** In each row: budget, time waited, usual time, and whether there is no hope. */
    @ParameterizedTest
    @CsvSource({
        "100, 0, 500, false",
        "100, 50, 500, false",
        "100, 51, 500, true",
        "100, 51, 49, false",
        "100, 60, 41, true",
        "100, 99, 0, false",
        "100, 100, 0, true",
        "0, 0, 0, true"
    })
    void should_give_up_only_what_waited_for_most_of_its_time(long budget, long waited, long usual, boolean hopeless) {
        assertThat(DeadlineRule.isHopeless(budget, waited, usual)).isEqualTo(hopeless);
    }
}
