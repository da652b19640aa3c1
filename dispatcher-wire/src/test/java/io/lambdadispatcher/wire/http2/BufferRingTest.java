package io.lambdadispatcher.wire.http2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.ArrayDeque;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BufferRingTest {
    private final BufferRing ring = new BufferRing(true);

    private static ByteBuf bytes(int bytes) {
        return ByteBufAllocator.DEFAULT.buffer(Math.max(1, bytes)).writeZero(bytes);
    }

    @Test
    void should_give_back_in_order_whatever_was_added_and_taken_between() {
        record Entry(ByteBuf data, boolean body) {}
        ArrayDeque<Entry> expected = new ArrayDeque<>();
        Random random = new Random(7);
        for (int i = 0; i < 10_000; i++) {
            if (random.nextInt(100) < (i / 100 % 2 == 0 ? 70 : 30)) {
                Entry entry = new Entry(bytes(1), random.nextBoolean());
                expected.add(entry);
                ring.add(entry.data(), entry.body());
            } else if (!expected.isEmpty()) {
                Entry entry = expected.remove();
                assertThat(ring.isBody()).isEqualTo(entry.body());
                ByteBuf taken = ring.take(1);
                assertThat(taken).isSameAs(entry.data());
                taken.release();
            }
        }
        assertThat(ring.releaseAll())
                .isEqualTo((int) expected.stream().filter(Entry::body).count());
        assertThat(expected)
                .allSatisfy(entry -> assertThat(entry.data().refCnt()).isZero());
    }

    @Test
    void should_give_the_front_of_an_entry_by_reference() {
        ByteBuf whole = bytes(10);
        ring.add(whole, true);
        ByteBuf front = ring.take(4);
        whole.setByte(0, 'x');
        assertThat(front.readableBytes()).isEqualTo(4);
        assertThat(front.getByte(0)).isEqualTo((byte) 'x');
        front.release();
        ByteBuf rest = ring.take(100);
        assertThat(rest).isSameAs(whole);
        assertThat(rest.readableBytes()).isEqualTo(6);
        rest.release();
        assertThat(whole.refCnt()).isZero();
    }

    @Test
    void should_count_only_body_among_what_it_releases() {
        ring.add(bytes(3), false);
        ring.add(bytes(10), true);
        ring.take(3).release();
        ring.take(4).release();
        ring.add(bytes(5), false);
        assertThat(ring.releaseAll()).isEqualTo(6);
        assertThat(ring.releaseAll()).isZero();
    }

    @Test
    void should_refuse_to_take_from_nothing() {
        assertThatThrownBy(() -> ring.take(1)).isInstanceOf(IllegalStateException.class);
    }

    private ByteBuf addedBehindMeta(ByteBuf body) {
        ring.add(bytes(4), false);
        ring.add(body, true);
        return body;
    }

    @Test
    void should_find_a_body_that_somebody_has_released_and_keep_its_memory_until_then() {
        ByteBuf body = addedBehindMeta(bytes(10));
        assertThat(ring.isIntact(14)).isTrue();
        body.release();
        assertThat(body.refCnt()).isEqualTo(1);
        assertThat(ring.isIntact(4)).isTrue();
        assertThat(ring.isIntact(5)).isFalse();
        assertThat(ring.releaseAll()).isEqualTo(10);
        assertThat(body.refCnt()).isZero();
    }

    @Test
    void should_find_a_body_that_somebody_has_changed() {
        ByteBuf body = addedBehindMeta(bytes(10));
        body.writerIndex(9);
        assertThat(ring.isIntact(14)).isFalse();
        body.writerIndex(10);
        assertThat(ring.isIntact(14)).isTrue();
        ring.take(4).release();
        ring.take(3).release();
        assertThat(ring.isIntact(7)).isTrue();
        body.readByte();
        assertThat(ring.isIntact(7)).isFalse();
        assertThat(ring.releaseAll()).isEqualTo(7);
        assertThat(body.refCnt()).isZero();
    }

    @Test
    void should_give_a_body_to_its_taker_alone() {
        ByteBuf body = addedBehindMeta(bytes(10));
        ring.take(4).release();
        ByteBuf front = ring.take(6);
        ByteBuf rest = ring.take(100);
        assertThat(rest.readableBytes()).isEqualTo(4);
        front.release();
        rest.release();
        assertThat(body.refCnt()).isZero();
    }

    @Test
    void should_take_bodies_that_cannot_be_released_and_bodies_that_others_share() {
        ByteBuf memory = bytes(10);
        ByteBuf shared = bytes(10);
        addedBehindMeta(Unpooled.unreleasableBuffer(memory));
        ring.add(shared.retainedDuplicate(), true);
        assertThat(ring.isIntact(24)).isTrue();
        ring.take(4).release();
        ring.take(10).release();
        ring.take(10).release();
        assertThat(memory.refCnt()).isEqualTo(1);
        assertThat(shared.refCnt()).isEqualTo(1);
        memory.release();
        shared.release();
    }

    @Test
    void should_not_count_on_bytes_that_are_not_there() {
        addedBehindMeta(bytes(10));
        assertThat(ring.isIntact(15)).isFalse();
        assertThat(ring.releaseAll()).isEqualTo(10);
    }
}
