package io.lambdadispatcher.core.internal.exchange;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class EarlyBodyTest {
    private final EarlyBody body = new EarlyBody();
    private final List<ByteBuf> given = new ArrayList<>();

    private ByteBuf add(byte... data) {
        ByteBuf part = Unpooled.buffer(1).writeBytes(data); // not Unpooled.EMPTY_BUFFER, which is never released
        given.add(part);
        body.add(part);
        return part;
    }

    @Test
    void should_put_small_parts_together() {
        int data = 100_000;
        for (int i = 0; i < data; i++) {
            add((byte) i);
        }
        List<ByteBuf> parts = new ArrayList<>();
        for (ByteBuf part = body.poll(); part != null; part = body.poll()) {
            parts.add(part);
        }
        assertThat(parts).hasSize(1 + data / SmallParts.MAX_BYTES);
        int at = 0;
        for (ByteBuf part : parts) {
            while (part.isReadable()) {
                assertThat(part.readByte()).isEqualTo((byte) at++);
            }
            part.release();
        }
        assertThat(at).isEqualTo(data);
        assertThat(given).allMatch(part -> part.refCnt() == 0);
    }

    @Test
    void should_not_copy_what_is_large() {
        ByteBuf large = add(new byte[SmallParts.MAX_PART_BYTES + 1]);
        assertThat(body.poll()).isSameAs(large);
        assertThat(body.isEmpty()).isTrue();
        large.release();
    }

    /** The buffer that a part was read into may be a hundred times as large. */
    @Test
    void should_copy_what_is_small_even_if_it_waits_alone() {
        ByteBuf read = Unpooled.buffer(64 * 1024).writeZero(64 * 1024);
        body.add(read.readRetainedSlice(600));
        assertThat(read.refCnt()).isEqualTo(1);
        assertThat(body.overheadBytes()).isZero();
        body.release();
        read.release();
    }

    @Test
    void should_count_each_buffer_once_that_large_parts_were_read_into() {
        ByteBuf read = Unpooled.buffer(64 * 1024).writeZero(64 * 1024);
        body.add(read.readRetainedSlice(9 * 1024));
        body.add(read.readRetainedSlice(9 * 1024));
        assertThat(body.overheadBytes()).isEqualTo((64 - 18) * 1024);
        body.release();
        read.release();
    }

    @Test
    void should_keep_the_order_of_parts_of_any_size() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        ByteBuf expected = Unpooled.buffer();
        ByteBuf got = Unpooled.buffer();
        for (int i = 0; i < 2000; i++) {
            if (random.nextInt(3) == 0) {
                poll(got);
            }
            byte[] data = new byte[random.nextInt(random.nextBoolean() ? 10 : 2 * SmallParts.MAX_PART_BYTES)];
            random.nextBytes(data);
            expected.writeBytes(data);
            add(data);
        }
        while (!body.isEmpty()) {
            poll(got);
        }
        assertThat(got).as("seed %d", seed).isEqualTo(expected);
        assertThat(given).allMatch(part -> part.refCnt() == 0);
    }

    private void poll(ByteBuf to) {
        ByteBuf part = body.poll();
        if (part != null) {
            to.writeBytes(part);
            part.release();
        }
    }

    @Test
    void should_release_all() {
        for (int bytes : new int[] {1, 1, 600, 1, 1, 0}) {
            add(new byte[bytes * 20]);
        }
        body.release();
        assertThat(body.isEmpty()).isTrue();
        assertThat(given).allMatch(part -> part.refCnt() == 0);
    }
}
