package io.lambdadispatcher.worker.adapter.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.wire.event.EventFormat;
import io.lambdadispatcher.worker.internal.child.ChildCommand;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RuntimeConfigTest {
    private static RuntimeConfig read(String... pairs) {
        Map<String, String> variables =
                new HashMap<>(Map.of("LAMBDA_DISPATCHER_RUNTIME", "python3 -m awslambdaric a.b"));
        for (int i = 0; i < pairs.length; i += 2) {
            variables.put(pairs[i], pairs[i + 1]);
        }
        return RuntimeConfig.read(variables);
    }

    @Test
    void should_have_several_children_of_one_each_or_one_of_several() {
        int processors = Runtime.getRuntime().availableProcessors();
        assertThat(read().children()).isEqualTo(4 * processors);
        assertThat(read().concurrency()).isEqualTo(1);
        assertThat(read("LAMBDA_DISPATCHER_RUNTIME_CONCURRENCY", "32").children())
                .isEqualTo(1);
        assertThat(read("LAMBDA_DISPATCHER_EVENT", "rest-api").format()).isEqualTo(EventFormat.REST_API);
    }

    @ParameterizedTest
    @CsvSource({
        "LAMBDA_DISPATCHER_RUNTIME, ' '",
        "LAMBDA_DISPATCHER_RUNTIME_CHILDREN, 0",
        "LAMBDA_DISPATCHER_RUNTIME_CONCURRENCY, many",
        "LAMBDA_DISPATCHER_RUNTIME_QUEUE, -1",
        "LAMBDA_DISPATCHER_RUNTIME_QUEUE_BYTES, 3g",
        "LAMBDA_DISPATCHER_RUNTIME_MAX_BYTES, 99999999999",
        "LAMBDA_DISPATCHER_EVENT, soap"
    })
    void should_name_the_variable_that_cannot_be_used(String name, String value) {
        assertThatThrownBy(() -> read(name, value))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(name)
                .hasMessageContaining("'" + value + "'")
                .hasMessageContaining("expected");
    }

    @Test
    void should_give_the_child_an_environment_like_lambdas_and_nothing_of_the_workers_own() {
        ChildCommand command = read(
                        "LAMBDA_DISPATCHER_SECRET", "s",
                        "AWS_LAMBDA_RUNTIME_API", "169.254.100.1:9001",
                        "AWS_LAMBDA_MAX_CONCURRENCY", "7",
                        "_LAMBDA_TELEMETRY_LOG_FD", "62",
                        "AWS_LAMBDA_FUNCTION_NAME", "shop",
                        "LAMBDA_DISPATCHER_RUNTIME_HANDLER", "app.handler")
                .command("runtime-1", 1234);
        assertThat(command.added())
                .containsEntry("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:1234")
                .containsEntry("AWS_LAMBDA_FUNCTION_NAME", "shop")
                .containsEntry("_HANDLER", "app.handler")
                .containsKeys("LAMBDA_TASK_ROOT", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "AWS_LAMBDA_FUNCTION_VERSION")
                .doesNotContainKey("AWS_LAMBDA_MAX_CONCURRENCY");
        assertThat(command.removed())
                .contains(
                        "LAMBDA_DISPATCHER_SECRET",
                        "LAMBDA_DISPATCHER_RUNTIME",
                        "AWS_LAMBDA_MAX_CONCURRENCY",
                        "_LAMBDA_TELEMETRY_LOG_FD")
                .doesNotContain("AWS_LAMBDA_FUNCTION_NAME");
        assertThat(read("LAMBDA_DISPATCHER_RUNTIME_CONCURRENCY", "32")
                        .command("r", 1)
                        .added())
                .containsEntry("AWS_LAMBDA_MAX_CONCURRENCY", "32");
    }
}
