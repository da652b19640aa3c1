package io.lambdadispatcher.core.internal.policy;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DeadlineHeadersTest {
    private static final DeadlinePolicy BOTH = DeadlinePolicy.builder()
            .header("grpc-timeout")
            .header("X-Timeout-Ms")
            .build();

    private static long budget(String name, String value) {
        return DeadlineHeaders.budgetNanos(BOTH, new DefaultHttp2Headers(false).add(name, value));
    }

    @ParameterizedTest
    @CsvSource({
        "1H, 3600000000000",
        "2M, 120000000000",
        "3S, 3000000000",
        "250m, 250000000",
        "7u, 7000",
        "9n, 9",
        "0n, 0",
        "99999999S, 99999999000000000"
    })
    void should_read_grpc_timeout(String value, long nanos) {
        assertThat(budget("grpc-timeout", value)).isEqualTo(nanos);
    }

    @ParameterizedTest
    @CsvSource({"250, 250000000", "250ms, 250000000", "3s, 3000000000", "0, 0", "9999999999, 9999999999000000"})
    void should_read_a_header_with_milliseconds(String value, long nanos) {
        assertThat(budget("x-timeout-ms", value)).isEqualTo(nanos);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "5", "S", "123456789S", "-1S", "1 S", "1s", "1.5S", "1SS", " 1S", "१S"})
    void should_ignore_a_grpc_timeout_that_is_not_valid(String value) {
        assertThat(budget("grpc-timeout", value)).isEqualTo(DeadlineHeaders.NONE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "ms", "12345678901", "-1", "1.5", "1 ms", "1m", "1S", "1sm", "0x10", "+1"})
    void should_ignore_any_other_header_that_is_not_valid(String value) {
        assertThat(budget("x-timeout-ms", value)).isEqualTo(DeadlineHeaders.NONE);
    }

    @Test
    void should_take_the_shortest_time() {
        DeadlinePolicy policy = DeadlinePolicy.builder()
                .limit(Duration.ofSeconds(2))
                .header("grpc-timeout")
                .header("x-timeout-ms")
                .build();
        Http2Headers head = new DefaultHttp2Headers();
        assertThat(DeadlineHeaders.budgetNanos(policy, head)).isEqualTo(2_000_000_000L);
        head.set("x-timeout-ms", "3000");
        assertThat(DeadlineHeaders.budgetNanos(policy, head)).isEqualTo(2_000_000_000L);
        head.set("grpc-timeout", "500m");
        assertThat(DeadlineHeaders.budgetNanos(policy, head)).isEqualTo(500_000_000L);
        assertThat(DeadlineHeaders.budgetNanos(DeadlinePolicy.NONE, head)).isEqualTo(DeadlineHeaders.NONE);
    }

    @ParameterizedTest
    @CsvSource({
        "1, 1u, 1, 1ms",
        "1999, 1u, 1, 1ms",
        "1999999, 1999u, 1, 1ms",
        "250000000, 250000u, 250, 250ms",
        "100000000000, 100000m, 100000, 100000ms",
        "3600000000000, 3600000m, 3600000, 3600000ms",
        "864000000000000, 864000S, 864000000, 864000000ms"
    })
    void should_write_what_is_left_without_more_time_than_there_is(long nanos, String grpc, String plain, String unit) {
        DeadlinePolicy policy = DeadlinePolicy.builder()
                .header("grpc-timeout")
                .header("plain")
                .header("unit")
                .header("absent")
                .build();
        Http2Headers head = new DefaultHttp2Headers()
                .add("grpc-timeout", "9H")
                .add("plain", "9")
                .add("unit", "9s")
                .add("other", "9");
        DeadlineHeaders.writeLeft(policy, head, nanos);
        assertThat(head)
                .isEqualTo(new DefaultHttp2Headers()
                        .add("grpc-timeout", grpc)
                        .add("plain", plain)
                        .add("unit", unit)
                        .add("other", "9"));
    }
}
