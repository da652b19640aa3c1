package io.lambdadispatcher.bench.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.worker.adapter.function.FunctionHandler;
import java.util.Map;
import org.junit.jupiter.api.Test;

class WaitingFunctionTest {
    @Test
    void should_wait_as_long_as_the_path_says() {
        long startNanos = System.nanoTime();
        Map<String, Object> answer = new WaitingFunction().handleRequest(Map.of("rawPath", "/wait/30"), null);
        assertThat(System.nanoTime() - startNanos).isGreaterThanOrEqualTo(30_000_000);
        assertThat(answer).containsEntry("statusCode", 200).containsEntry("body", "ok");
    }

    @Test
    void should_be_what_a_worker_takes() {
        assertThat(FunctionHandler.of(WaitingFunction.class, null, Map.of("LAMBDA_DISPATCHER_EVENT", "http-api-v2")))
                .isNotNull();
    }
}
