package io.lambdadispatcher.worker.internal.connect;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.worker.internal.connect.ConnectionListener.Closing.Cause;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RefusalTest {

    @ParameterizedTest
    @CsvSource(
            nullValues = "none",
            value = {
                "401, REFUSED, rejected the worker with status 401: the token is not valid",
                "403, REFUSED, rejected the worker with status 403: it may not connect",
                "429, LOST, rejected the worker with status 429: it has too many connections",
                "425, NOT_NOW, rejected the worker with status 425: it has not yet read",
                "404, REFUSED, a:1 answered with status 404",
                "408, LOST, a:1 answered with status 408",
                "500, LOST, a:1 answered with status 500",
                "503, LOST, rejected the worker with status 503: it is shutting down",
                "200, LOST, a:1 answered with status 200",
                "4011, LOST, a:1 answered with status 4011",
                "none, LOST, a:1 answered with status null"
            })
    void should_tell_whether_another_attempt_may_succeed(String status, Cause cause, String detail) {
        Refusal refusal = Refusal.of("a:1", status);
        assertThat(refusal.cause()).isEqualTo(cause);
        assertThat(refusal.detail()).contains(detail);
    }
}
