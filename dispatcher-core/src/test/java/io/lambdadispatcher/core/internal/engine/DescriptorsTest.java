package io.lambdadispatcher.core.internal.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.HttpLimits;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DescriptorsTest {

    @ParameterizedTest
    @CsvSource({
        "10000, 300, 1048576, 10000",
        "10000, 300, 10300, 10000",
        "10000, 301, 10300, 9999",
        "10000, 300, 1024, 724",
        "10000, 1000, 1024, 512",
        "10000, 300, 9223372036854775807, 10000"
    })
    void should_keep_descriptors_for_workers(int wanted, long reserve, long max, int expected) {
        assertThat(Descriptors.forClients(wanted, reserve, max)).isEqualTo(expected);
    }

    /** 256, and 5 for each of 20 workers: 10 workers, and 10 that replace them. */
    @Test
    void should_reserve_for_each_worker_and_its_replacement() {
        FunctionOptions function = FunctionOptions.builder("a")
                .capacity(CapacityPolicy.builder().workers(0, 10).build())
                .connectionsPerWorker(2)
                .build();
        assertThat(Descriptors.reserve(List.of(function))).isEqualTo(256 + 20 * 5);
    }

    @Test
    void should_serve_a_client_of_this_process() {
        assertThat(Descriptors.forClients(HttpLimits.defaults(), List.of())).isPositive();
    }
}
