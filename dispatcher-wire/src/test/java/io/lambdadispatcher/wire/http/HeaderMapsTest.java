package io.lambdadispatcher.wire.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class HeaderMapsTest {
    /** Any bytes: UTF-8, ISO 8859-1, and UTF-8 of what looks like UTF-8. */
    @Test
    void should_become_the_same_bytes_again() {
        Random random = new Random(1);
        for (int i = 0; i < 10_000; i++) {
            Http2Headers headers = new FlatHeaders();
            for (int field = random.nextInt(4); field > 0; field--) {
                byte[] value = new byte[1 + random.nextInt(4)];
                for (int at = 0; at < value.length; at++) {
                    int[] some = {'a', 0x80, 0x83, 0xA9, 0xC2, 0xC3, 0xE9, 0xFF};
                    value[at] = (byte) some[random.nextInt(some.length)];
                }
                headers.add(AsciiString.of("x-" + random.nextInt(2)), new AsciiString(value, false));
            }
            Map<String, List<String>> map = HeaderMaps.of(headers);
            assertThat(HeaderMaps.parse(map)).isEqualTo(headers);
            assertThat(map).isEqualTo(new LinkedHashMap<>(map));
        }
    }

    @Test
    void should_write_the_text_of_a_program_as_utf_8() {
        Http2Headers headers = HeaderMaps.parse(Map.of("X-Text", List.of("\u00e9", "\u20ac")));
        assertThat(headers.getAll("x-text"))
                .extracting(CharSequence::toString)
                .containsExactly("\u00c3\u00a9", "\u00e2\u0082\u00ac");
        assertThatThrownBy(() -> HeaderMaps.parse(Map.of(":path", List.of("/"))))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> HeaderMaps.parse(Map.of("x", List.of("a\nb"))))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void should_leave_out_pseudo_headers() {
        Http2Headers headers = new FlatHeaders().path("/").add("x", "1").add("x", "2");
        assertThat(HeaderMaps.of(headers)).isEqualTo(Map.of("x", List.of("1", "2")));
        assertThat(HeaderMaps.parse(HeaderMaps.of(headers)).path()).isNull();
        assertThatThrownBy(() -> HeaderMaps.of(headers).remove("x")).isInstanceOf(UnsupportedOperationException.class);
    }
}
