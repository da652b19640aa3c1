package io.lambdadispatcher.core.internal.policy;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DeadlineRuleTest {
    /** In each row: time left, time in the queue, usual time, and whether there is no hope. */
    @ParameterizedTest
    @CsvSource({
        "100, 0, 500, false",
        "50, 50, 500, false",
        "49, 51, 500, true",
        "49, 51, 49, false",
        "40, 60, 41, true",
        "40, 0, 500, false",
        "1, 99, 0, false",
        "0, 100, 0, true",
        "0, 0, 0, true"
    })
    void should_give_up_only_what_waited_for_most_of_its_time(long left, long queued, long usual, boolean hopeless) {
        assertThat(DeadlineRule.isHopeless(left, queued, usual)).isEqualTo(hopeless);
    }
}
