package io.lambdadispatcher.wire.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

class TextAnswerTest {
    /** Its text can quote a path or a header of the client. */
    @Test
    void should_let_no_browser_take_it_for_a_page_and_no_cache_keep_it() {
        ByteBufAllocator allocator = ByteBufAllocator.DEFAULT;
        for (TextAnswer answer : List.of(
                TextAnswer.of(allocator, HttpResponseStatus.NOT_FOUND, "no function matches /<script>"),
                TextAnswer.of(
                        allocator,
                        HttpResponseStatus.NOT_FOUND,
                        "application/problem+json",
                        "{}".getBytes(StandardCharsets.US_ASCII)))) {
            assertThat(answer.head().get("x-content-type-options")).hasToString("nosniff");
            assertThat(answer.head().get("cache-control")).hasToString("no-store");
            assertThat(answer.head().get("content-length"))
                    .hasToString(String.valueOf(answer.body().readableBytes()));
            answer.body().release();
        }
    }
}
