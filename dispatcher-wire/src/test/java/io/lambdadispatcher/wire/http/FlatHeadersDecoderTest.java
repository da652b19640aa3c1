package io.lambdadispatcher.wire.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FlatHeadersDecoderTest {
    private final DefaultHttp2HeadersEncoder encoder = new DefaultHttp2HeadersEncoder();
    private final FlatHeadersDecoder decoder = new FlatHeadersDecoder(8192, 2);

    private Http2Headers pass(Http2Headers head) throws Http2Exception {
        ByteBuf block = Unpooled.buffer();
        encoder.encodeHeaders(1, head, block);
        return decoder.decodeHeaders(1, block);
    }

    private static Http2Headers request() {
        return new DefaultHttp2Headers(false).method("GET").path("/").scheme("http");
    }

    @Test
    void should_decode_heads_that_repeat_and_change() throws Exception {
        for (int i = 0; i < 5; i++) {
            Http2Headers head = request().add("x-same", "same").add("x-other", "value " + i / 2);
            assertThat(pass(head)).isInstanceOf(FlatHeaders.class).isEqualTo(head);
        }
    }

    /** A block that repeats is not decoded again, but its headers are those of each request. */
    @Test
    void should_give_each_request_headers_of_its_own() throws Exception {
        Http2Headers head = request().add("x-same", "same");
        for (int i = 0; i < 5; i++) {
            Http2Headers passed = pass(head);
            assertThat(passed).isEqualTo(head);
            passed.remove("x-same");
            passed.add("x-own", "a").add("x-own", "b").add("x-own", "c").path("/other");
            assertThatThrownBy(() -> passed.add("x", "a\r\nb")).isInstanceOf(IllegalArgumentException.class);
        }
    }

    /** The same bytes mean another header when the dynamic table has changed. */
    @Test
    void should_decode_the_same_bytes_again_when_another_block_has_come() throws Exception {
        Http2Headers head = request().add("x-first", "1");
        for (int i = 0; i < 3; i++) {
            assertThat(decode("828684be")).isEqualTo(i == 0 ? null : head);
            pass(head);
        }
        assertThat(decode("828684be")).isEqualTo(head);
        assertThat(decode("828684be")).isEqualTo(head);
        pass(request().add("x-second", "2"));
        assertThat(decode("828684be")).isEqualTo(request().add("x-second", "2"));
        assertThat(decode("828684bf")).isEqualTo(head);
    }

    /** Of the forms of RFC 7541 section 6, only a literal with indexing changes the table. */
    @ParameterizedTest
    @CsvSource({
        "000161 0131, a", // a literal without indexing
        "0f28 0131, set-cookie", // with a long index of its name
        "100161 0131, a", // never indexed
        "ffffff7f, ''", // an index that no table has
        "0001, ''", // a literal that is cut off
        "0461, ''"
    })
    void should_decode_each_form_of_a_field_again_and_again(String hex, String name) throws Exception {
        String block = "828684" + hex.replace(" ", "");
        for (int i = 0; i < 4; i++) {
            Http2Headers decoded = decode(block);
            assertThat(decoded).isEqualTo(name.isEmpty() ? null : request().add(name, "1"));
        }
        assertThat(decode("828684" + "40016101" + "32")).isEqualTo(request().add("a", "2"));
        assertThat(decode("828684be")).isEqualTo(request().add("a", "2"));
        assertThat(decode("828684be")).isEqualTo(request().add("a", "2"));
        assertThat(decode("828684" + "20")).isNull(); // a size update at the wrong place
    }

    @Test
    void should_decode_long_strings_again_and_again() throws Exception {
        for (int length : new int[] {1, 50, 59, 60, 61, 126, 127, 128, 300}) {
            Http2Headers head = request().add("x-long", "v".repeat(length));
            DefaultHttp2HeadersEncoder plain = new DefaultHttp2HeadersEncoder(
                    DefaultHttp2HeadersEncoder.NEVER_SENSITIVE, true, 16, Integer.MAX_VALUE);
            plain.maxHeaderTableSize(0);
            for (int i = 0; i < 4; i++) {
                ByteBuf block = Unpooled.buffer();
                plain.encodeHeaders(1, head, block);
                assertThat(decoder.decodeHeaders(1, block)).isEqualTo(head);
                assertThat(block.isReadable()).isFalse();
            }
        }
    }

    private @Nullable Http2Headers decode(String hex) {
        try {
            return decoder.decodeHeaders(1, Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(hex)));
        } catch (Http2Exception | RuntimeException e) {
            return null;
        }
    }

    /**
     * Also when good fields were in the same places before: what is remembered is the field, not
     * the place.
     */
    @ParameterizedTest
    @CsvSource({
        "Upper, value",
        "with space, value",
        "x-ok, a\u0001b",
        "x-ok, 'a\r\nb'",
        "x-ok, ' a'",
        "x-ok, 'a '",
        "x-ok, 'a\t'",
        "x-ok, ' '",
        "'na:me', v",
        ":unknown, v",
        ":path, twice"
    })
    void should_refuse_bad_fields(String name, String value) throws Exception {
        pass(request().add("x-ok", "value"));
        pass(request().add("x-ok", "value"));
        Http2Headers bad = request().add("x-first", "1");
        bad.add(name, value);
        assertThatThrownBy(() -> pass(bad)).isInstanceOf(Http2Exception.class);
        assertThatThrownBy(() -> pass(bad)).isInstanceOf(Http2Exception.class);
        assertThat(pass(request().add("x-ok", "value"))).isEqualTo(request().add("x-ok", "value"));
    }

    @Test
    void should_refuse_bad_fields_that_are_added_to_a_decoded_head() throws Exception {
        Http2Headers head = pass(request());
        assertThatThrownBy(() -> head.add("x", "a\r\nb")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> head.add("X", "a")).isInstanceOf(Exception.class);
        assertThat(head.add("x", "a")).isEqualTo(request().add("x", "a"));
    }

    @Test
    void should_refuse_an_empty_pseudo_header_field() {
        assertThatThrownBy(() -> pass(request().path(""))).isInstanceOf(Http2Exception.class);
    }
}
