package io.lambdadispatcher.wire.event;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BodyBufferTest {
    private static Http2Headers announcing(long bytes) {
        return new DefaultHttp2Headers().setLong("content-length", bytes);
    }

    private static ByteBuf pooled(byte[] content) {
        return PooledByteBufAllocator.DEFAULT.directBuffer().writeBytes(content);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4096, 4097, 300_000, 5_000_000})
    void should_gather_parts_of_any_size(int bytes) {
        byte[] all = new byte[bytes];
        long seed = System.nanoTime();
        Random random = new Random(seed);
        random.nextBytes(all);
        for (BodyBuffer body : new BodyBuffer[] {
            BodyBuffer.ofRequest(announcing(bytes), bytes),
            BodyBuffer.ofRequest(new DefaultHttp2Headers(), Integer.MAX_VALUE),
            BodyBuffer.ofArray(-1, bytes),
            BodyBuffer.ofArray(bytes, bytes)
        }) {
            for (int at = 0; at < bytes; ) {
                int next = Math.min(bytes, at + 1 + random.nextInt(70_000));
                ByteBuf part = pooled(Arrays.copyOfRange(all, at, next));
                assertThat(body.add(part)).isTrue();
                assertThat(part.refCnt()).isZero();
                at = next;
            }
            assertThat(body.toArray()).as("seed %d", seed).isEqualTo(all);
            assertThat(body.take().isReadable()).isFalse();
        }
    }

    @Test
    void should_drop_what_exceeds_the_limit_and_all_that_follows() {
        BodyBuffer body = BodyBuffer.ofRequest(new DefaultHttp2Headers(), 10);
        ByteBuf[] parts = {pooled(new byte[10]), pooled(new byte[1]), pooled(new byte[1])};
        assertThat(body.add(parts[0])).isTrue();
        assertThat(body.isTooLarge()).isFalse();
        assertThat(body.add(parts[1])).isFalse();
        assertThat(body.isTooLarge()).isTrue();
        assertThat(body.add(parts[2])).isFalse();
        assertThat(parts).allMatch(part -> part.refCnt() == 0);
        assertThat(body.take().isReadable()).isFalse();
        assertThatThrownBy(() -> body.write(new byte[1])).isInstanceOf(EventTooLargeException.class);
    }

    @Test
    void should_know_by_the_announced_length_that_a_body_is_too_large() {
        assertThat(BodyBuffer.ofRequest(announcing(11), 10).isTooLarge()).isTrue();
        assertThat(BodyBuffer.ofRequest(announcing(10), 10).isTooLarge()).isFalse();
        assertThat(BodyBuffer.ofRequest(new DefaultHttp2Headers(), 10).isTooLarge())
                .isFalse();
    }

    /** A client may announce gigabytes and send one byte. */
    @Test
    void should_take_little_memory_for_what_is_only_announced() {
        BodyBuffer body = BodyBuffer.ofRequest(announcing(1 << 30), 1 << 30);
        body.add(pooled(new byte[1]));
        ByteBuf gathered = body.take();
        assertThat(gathered.capacity()).isLessThanOrEqualTo(256 * 1024);
        gathered.release();
    }

    @Test
    void should_release_its_memory_once() {
        BodyBuffer body = BodyBuffer.ofRequest(new DefaultHttp2Headers(), 10);
        body.add(pooled(new byte[5]));
        ByteBuf gathered = body.take();
        body.release();
        assertThat(gathered.refCnt()).isOne();
        assertThat(gathered.hasArray()).isTrue();
        gathered.release();
        body.add(pooled(new byte[5]));
        body.release();
        body.release();
        assertThat(body.take().isReadable()).isFalse();
    }

    @Test
    void should_not_copy_an_array_that_has_the_announced_size() {
        BodyBuffer body = BodyBuffer.ofArray(3, 10);
        body.add(pooled(new byte[] {1, 2, 3}));
        ByteBuf gathered = body.take();
        assertThat(ByteBufUtil.getBytes(gathered, 0, 3, false)).isSameAs(gathered.array());
        gathered.release();
    }

    @Test
    void should_keep_the_array_of_an_only_part_and_copy_any_other() {
        byte[] own = {1, 2, 3};
        BodyBuffer body = BodyBuffer.ofArray(-1, 10);
        body.add(Unpooled.wrappedBuffer(own));
        assertThat(body.toArray()).isSameAs(own);

        body.add(Unpooled.wrappedBuffer(own, 1, 2));
        assertThat(body.toArray()).containsExactly(2, 3);

        body.add(Unpooled.wrappedBuffer(own));
        body.add(Unpooled.wrappedBuffer(own));
        assertThat(body.toArray()).containsExactly(1, 2, 3, 1, 2, 3);
        assertThat(own).containsExactly(1, 2, 3);
    }

    @Test
    void should_take_what_is_written() {
        BodyBuffer body = BodyBuffer.ofArray(1, 5);
        body.write('a');
        body.write(new byte[] {'x', 'b', 'c', 'x'}, 1, 2);
        assertThat(body.toArray()).containsExactly('a', 'b', 'c');
    }
}
