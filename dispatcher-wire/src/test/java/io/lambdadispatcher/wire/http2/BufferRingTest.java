package io.lambdadispatcher.wire.http2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.ArrayDeque;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BufferRingTest {
    private final BufferRing ring = new BufferRing();

    private static ByteBuf octets(int bytes) {
        return ByteBufAllocator.DEFAULT.buffer(Math.max(1, bytes)).writeZero(bytes);
    }

    @Test
    void should_give_back_in_order_whatever_was_added_and_taken_between() {
        record Entry(ByteBuf octets, boolean body) {}
        ArrayDeque<Entry> expected = new ArrayDeque<>();
        Random random = new Random(7);
        for (int i = 0; i < 10_000; i++) {
            if (random.nextInt(100) < (i / 100 % 2 == 0 ? 70 : 30)) {
                Entry entry = new Entry(octets(1), random.nextBoolean());
                expected.add(entry);
                ring.add(entry.octets(), entry.body());
            } else if (!expected.isEmpty()) {
                Entry entry = expected.remove();
                assertThat(ring.isBody()).isEqualTo(entry.body());
                ByteBuf taken = ring.take(1);
                assertThat(taken).isSameAs(entry.octets());
                taken.release();
            }
        }
        assertThat(ring.releaseAll())
                .isEqualTo((int) expected.stream().filter(Entry::body).count());
        assertThat(expected)
                .allSatisfy(entry -> assertThat(entry.octets().refCnt()).isZero());
    }

    @Test
    void should_give_the_front_of_an_entry_by_reference() {
        ByteBuf whole = octets(10);
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
        ring.add(octets(3), false);
        ring.add(octets(10), true);
        ring.take(3).release();
        ring.take(4).release();
        ring.add(octets(5), false);
        assertThat(ring.releaseAll()).isEqualTo(6);
        assertThat(ring.releaseAll()).isZero();
    }

    @Test
    void should_refuse_to_take_from_nothing() {
        assertThatThrownBy(() -> ring.take(1)).isInstanceOf(IllegalStateException.class);
    }
}
