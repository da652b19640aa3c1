package io.lambdadispatcher.worker.internal.connect;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RefusalTest {

    @ParameterizedTest
    @CsvSource(
            nullValues = "none",
            value = {
                "401, true, rejected the worker with status 401: the token is not valid",
                "403, true, rejected the worker with status 403: it may not connect",
                "429, false, rejected the worker with status 429: it has too many connections",
                "404, true, a:1 answered with status 404",
                "408, false, a:1 answered with status 408",
                "500, false, a:1 answered with status 500",
                "200, false, a:1 answered with status 200",
                "4011, false, a:1 answered with status 4011",
                "none, false, a:1 answered with status null"
            })
    void should_tell_whether_another_attempt_may_succeed(String status, boolean permanent, String detail) {
        Refusal refusal = Refusal.of("a:1", status);
        assertThat(refusal.permanent()).isEqualTo(permanent);
        assertThat(refusal.detail()).contains(detail);
    }
}
