package io.lambdadispatcher.core.request;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaderNames;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Flow;
import org.junit.jupiter.api.Test;

class DispatchRequestTest {
    private static final Flow.Publisher<ByteBuf> PUBLISHER = subscriber -> {};

    @Test
    void should_forget_the_length_of_bytes_that_a_publisher_replaces() {
        DispatchRequest request =
                DispatchRequest.post("/").body("bytes").body(PUBLISHER).build();

        assertThat(request.headers().get(HttpHeaderNames.CONTENT_LENGTH)).isNull();
        assertThat(request.body()).isSameAs(PUBLISHER);
    }

    @Test
    void should_keep_the_length_that_the_program_gives_for_a_publisher() {
        DispatchRequest request = DispatchRequest.post("/")
                .header("content-length", "7")
                .body(PUBLISHER)
                .build();

        assertThat(request.header("content-length")).isEqualTo("7");
    }

    @Test
    void should_take_an_asterisk_for_a_path_only_with_options() {
        assertThat(DispatchRequest.builder("OPTIONS", "*").build().path()).isEqualTo("*");
        assertThatThrownBy(() -> DispatchRequest.get("*"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("path '*', expected");
    }

    @Test
    void should_have_the_length_of_the_last_bytes() {
        DispatchRequest request =
                DispatchRequest.post("/").body(PUBLISHER).body("bytes").build();

        assertThat(request.headers()).isEqualTo(Map.of("content-length", List.of("5")));
    }
}
