package io.lambdadispatcher.wire.event;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StreamPreludeTest {
    private static Http2Headers read(String json) throws BadResponseException {
        return StreamPrelude.read(json.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void should_read_all_that_a_head_may_have() throws Exception {
        Http2Headers head = read("""
                {"statusCode": "218", "headers": {"Content-Type": "text/x", "X-N": 5, "X-Null": null, "Connection": "close"},
                 "multiValueHeaders": {"x-many": ["1", "2"]}, "cookies": ["a=1", "b=2"], "other": {"deep": [1]}}
                """);
        assertThat(head.status()).hasToString("218");
        assertThat(head.get("content-type")).hasToString("text/x");
        assertThat(head.get("x-n")).hasToString("5");
        assertThat(head.getAll("x-many")).hasToString("[1, 2]");
        assertThat(head.getAll("set-cookie")).hasToString("[a=1, b=2]");
        assertThat(head.contains("x-null")).isFalse();
        assertThat(head.contains("connection")).isFalse();
        assertThat(head.contains("content-length")).isFalse();
    }

    @Test
    void should_take_nothing_for_a_200_and_keep_a_length() throws Exception {
        assertThat(read("{}").status()).hasToString("200");
        assertThat(read("{\"headers\":null,\"cookies\":null}").size()).isEqualTo(1);
        assertThat(read("{\"headers\":{\"content-length\":\"17\"}}").get("content-length"))
                .hasToString("17");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "[]",
                "{",
                "{\"statusCode\":100}",
                "{\"statusCode\":\"ok\"}",
                "{\"statusCode\":{}}",
                "{\"headers\":[]}",
                "{\"headers\":{\"x\":{}}}",
                "{\"headers\":{\"x\":\"a\\r\\nb: c\"}}",
                "{\"headers\":{\"a b\":\"c\"}}",
                "{\"cookies\":[[]]}",
                "{\"cookies\":[\"a\"",
                "{}{}",
                "{} x"
            })
    void should_refuse_what_is_no_head(String json) {
        assertThatThrownBy(() -> read(json)).isInstanceOf(BadResponseException.class);
    }
}
