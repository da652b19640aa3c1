package io.lambdadispatcher.wire.http;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TraceParentTest {
    private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
    private static final String SPAN = "00f067aa0ba902b7";

    private static FlatHeaders with(String value) {
        FlatHeaders headers = new FlatHeaders();
        headers.add("traceparent", value);
        return headers;
    }

    @Test
    void should_read_the_ids_and_the_flag() {
        FlatHeaders sampled = with("00-" + TRACE + "-" + SPAN + "-01");
        assertThat(TraceParent.isSampled(sampled)).isTrue();
        assertThat(TraceParent.traceId(sampled)).isEqualTo(TRACE);
        assertThat(TraceParent.spanId(sampled)).isEqualTo(SPAN);
        assertThat(TraceParent.isSampled(with("00-" + TRACE + "-" + SPAN + "-00")))
                .isFalse();
        assertThat(TraceParent.isSampled(with("00-" + TRACE + "-" + SPAN + "-02")))
                .isFalse();
    }

    @Test
    void should_read_a_later_version() {
        assertThat(TraceParent.traceId(with("01-" + TRACE + "-" + SPAN + "-03-more")))
                .isEqualTo(TRACE);
        assertThat(TraceParent.isSampled(with("01-" + TRACE + "-" + SPAN + "-03-more")))
                .isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "00",
                "00-" + TRACE + "-" + SPAN,
                "00-" + TRACE + "-" + SPAN + "-01-more",
                "ff-" + TRACE + "-" + SPAN + "-01",
                "00-00000000000000000000000000000000-" + SPAN + "-01",
                "00-" + TRACE + "-0000000000000000-01",
                "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + SPAN + "-01",
                "00_" + TRACE + "-" + SPAN + "-01",
                "00-" + TRACE + "-" + SPAN + "-0g"
            })
    void should_ignore_what_is_malformed(String value) {
        assertThat(TraceParent.traceId(with(value))).isNull();
        assertThat(TraceParent.spanId(with(value))).isNull();
        assertThat(TraceParent.isSampled(with(value))).isFalse();
    }

    @Test
    void should_do_without_the_header() {
        assertThat(TraceParent.traceId(new FlatHeaders())).isNull();
        assertThat(TraceParent.isSampled(new FlatHeaders())).isFalse();
    }
}
