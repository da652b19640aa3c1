package io.lambdadispatcher.wire.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OutgoingHeadersTest {
    private static Http2Headers with(String name, String value) {
        return new DefaultHttp2Headers(false).status("200").add(name, value);
    }

    @Test
    void should_return_good_headers_themselves() {
        Http2Headers good = with("x-name", "a\tb").add("empty", "").add("latin", new AsciiString(new byte[] {-1}));
        assertThat(OutgoingHeaders.ofResponse(good)).isSameAs(good);
        Http2Headers trailers = new DefaultHttp2Headers(false).add("x-sum", "1");
        assertThat(OutgoingHeaders.ofTrailers(trailers)).isSameAs(trailers);
    }

    @Test
    void should_send_names_in_lower_case_and_leave_what_was_given_alone() {
        Http2Headers given = with("Content-Type", "text/plain").add("x-a", "1").add("X-A", "2");
        Http2Headers sent = OutgoingHeaders.ofResponse(given);
        assertThat(sent)
                .isEqualTo(with("content-type", "text/plain").add("x-a", "1").add("x-a", "2"));
        assertThat(given.contains("Content-Type")).isTrue();
    }

    @ParameterizedTest
    @CsvSource({
        "\u00dcber \u65e5\u2019, \u00c3\u009cber \u00e6\u0097\u00a5\u00e2\u0080\u0099",
        "\u00dcber, \u00c3\u009cber",
        // The bytes of UTF-8 already, as AsciiString.toString() of a received value returns them.
        "\u00c3\u009cber, \u00c3\u009cber",
        // Characters whose lower byte is a line end or zero.
        "a\u010a\u560d\u0100, a\u00c4\u008a\u00e5\u0098\u008d\u00c4\u0080",
    })
    void should_send_text_as_utf_8(String text, String bytes) {
        assertThat(OutgoingHeaders.ofResponse(with("x-name", text))).isEqualTo(with("x-name", bytes));
        assertThat(OutgoingHeaders.verifyValue("x-name", text)).hasToString(bytes);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "my header | 1 | header name 'my header', expected",
                "'' | 1 | header name '', expected",
                "na\u00efve | 1 | header name 'na\u00efve', expected",
                ":path | / | header ':path', expected no other pseudo-header than :status",
            })
    void should_name_a_bad_name(String name, String value, String message) {
        assertThatThrownBy(() -> OutgoingHeaders.ofResponse(with(name, value)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(message);
    }

    @Test
    void should_name_the_header_of_a_bad_value() {
        for (String value : new String[] {"a\nb", "a\rb", "\u0000", "\u20ac\n", " a", "a ", "a\t", "\u007f"}) {
            assertThatThrownBy(() -> OutgoingHeaders.ofResponse(with("x-name", value)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("header x-name with value '");
        }
    }

    @Test
    void should_refuse_pseudo_headers_in_trailers() {
        assertThatThrownBy(() -> OutgoingHeaders.ofTrailers(with("x-sum", "1")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("header ':status', expected no pseudo-header in trailers");
    }

    @Test
    void should_refuse_more_than_the_worker_protocol_carries() {
        OutgoingHeaders.ofResponse(with("x", "a".repeat(FlatHeaders.MAX_LIST_BYTES - 200)));
        assertThatThrownBy(() -> OutgoingHeaders.ofResponse(with("x", "a".repeat(FlatHeaders.MAX_LIST_BYTES))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("headers of 262219 bytes, with 32 for each, expected at most 262144");
    }
}
