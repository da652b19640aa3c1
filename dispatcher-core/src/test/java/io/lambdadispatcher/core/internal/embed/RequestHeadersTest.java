package io.lambdadispatcher.core.internal.embed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RequestHeadersTest {
    @ParameterizedTest
    @CsvSource({"a.example, true", "A.example:80, true", "a.example:443, false", "b.example, false"})
    void should_accept_a_host_that_is_the_authority(String host, boolean accepted) {
        Http2Headers head = new DefaultHttp2Headers()
                .method("GET")
                .scheme("http")
                .authority("a.example")
                .path("/")
                .add("host", host);
        if (accepted) {
            assertThat(RequestHeaders.head(head, true).get("host")).isNull();
        } else {
            assertThatThrownBy(() -> RequestHeaders.head(head, true)).hasMessageContaining("host has the value");
        }
    }
}
