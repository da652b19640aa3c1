package io.lambdadispatcher.wire.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.AsciiString;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class UniqueHeadersTest {
    @ParameterizedTest
    @CsvSource({
        "tracestate, true",
        "traceparent, true",
        "x-amz-cf-id, true",
        "x-request-id, true",
        "x-amzn-trace-id, true",
        "user-agent, false",
        ":authority, false",
        "connection, false",
        "content-type, false",
        "accept-encoding, false",
        "x-forwarded-for, false",
        "x-amzn-trace-ie, false"
    })
    void should_know_the_headers_that_differ_in_each_request(String name, boolean unique) {
        assertThat(UniqueHeaders.INSTANCE.isSensitive(name, "1")).isEqualTo(unique);
        assertThat(UniqueHeaders.INSTANCE.isSensitive(AsciiString.of(name), "1"))
                .isEqualTo(unique);
    }
}
