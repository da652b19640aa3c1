package io.lambdadispatcher.core.request;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

class ReadBodyTest {
    private final CompletableFuture<String> result = new CompletableFuture<>();
    private final ByteBuf part = Unpooled.wrappedBuffer(new byte[1]);

    private void read(Consumer<ByteBuf> onPart, Supplier<String> onEnd) {
        ReadBody<String> body = new ReadBody<>(result, onPart, onEnd);
        body.onNext(part);
        body.onComplete();
    }

    /** A large body may find no memory. */
    @Test
    void should_fail_if_a_part_finds_no_memory() {
        OutOfMemoryError error = new OutOfMemoryError("for the test");
        read(
                any -> {
                    throw error;
                },
                () -> "whole");
        assertThat(result).isCompletedExceptionally();
        assertThat(part.refCnt()).isZero();
    }

    @Test
    void should_fail_if_the_whole_finds_no_memory() {
        OutOfMemoryError error = new OutOfMemoryError("for the test");
        read(any -> {}, () -> {
            throw error;
        });
        assertThat(result).isCompletedExceptionally();
        assertThat(part.refCnt()).isZero();
    }
}
