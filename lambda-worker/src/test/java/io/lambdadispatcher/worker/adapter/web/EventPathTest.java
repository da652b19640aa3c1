package io.lambdadispatcher.worker.adapter.web;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EventPathTest {
    @ParameterizedTest
    @CsvSource({
        "/AWS Lambda, /AWS%20Lambda",
        "/A\u00f1o, /A%C3%B1o",
        "/\uD83D\uDE80, /%F0%9F%9A%80",
        "/me?admin=1#top, /me%3Fadmin=1%23top",
        "/100%, /100%25",
        "/100%2, /100%252",
        "/%zz/%\u0661\u0661, /%25zz/%25%D9%A1%D9%A1",
        "/a\\b|c[0]{d}^e<f>\"`, /a%5Cb%7Cc%5B0%5D%7Bd%7D%5Ee%3Cf%3E%22%60"
    })
    void should_escape_what_a_path_cannot_hold(String path, String escaped) {
        assertThat(EventPath.escaped(path)).isEqualTo(escaped);
    }

    @Test
    void should_escape_what_would_end_a_request_line() {
        assertThat(EventPath.escaped("/\r\n\t\0\u007f")).isEqualTo("/%0D%0A%09%00%7F");
        assertThat(EventPath.escaped("/\uD83D")).as("half of a character").isEqualTo("/%3F");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ' ',
            value = {"/", "*", "/a%20b/%c3%B1", "//-._~!$&'()*+,;=:@/az/AZ/09"})
    void should_leave_what_is_escaped_or_needs_not_to_be(String path) {
        assertThat(EventPath.escaped(path)).isEqualTo(path);
    }
}
