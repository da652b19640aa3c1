package io.lambdadispatcher.core.internal.ingress.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.embedded.EmbeddedChannel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class WriteWatchTest {
    private static final long TIMEOUT = 10;

    private final Socket channel = new Socket();
    private final WriteWatch watch = new WriteWatch(channel);

    /** Takes as many octets as it is told to. */
    private static final class Socket extends EmbeddedChannel {
        private int room;

        @Override
        protected void doWrite(ChannelOutboundBuffer queue) {
            while (queue.current() instanceof ByteBuf some && (room > 0 || !some.isReadable())) {
                int taken = Math.min(room, some.readableBytes());
                room -= taken;
                queue.removeBytes(taken);
            }
        }

        void take(int octets) {
            room = octets;
            flush();
        }
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private static ByteBuf octets(int count) {
        return Unpooled.buffer().writeZero(count);
    }

    @Test
    void should_wait_for_nobody_to_whom_nothing_is_sent() {
        assertThat(watch.isStuck(0, TIMEOUT)).isFalse();
        assertThat(watch.isStuck(1000, TIMEOUT)).isFalse();
        channel.write(octets(1));
        assertThat(watch.isStuck(2000, TIMEOUT)).as("not flushed").isFalse();
        assertThat(watch.isStuck(3000, TIMEOUT)).isFalse();
    }

    @Test
    void should_count_from_the_first_look_that_finds_something_waiting() {
        watch.isStuck(0, TIMEOUT);
        channel.writeAndFlush(octets(1));
        assertThat(watch.isStuck(100, TIMEOUT)).isFalse();
        assertThat(watch.isStuck(100 + TIMEOUT, TIMEOUT)).isFalse();
        assertThat(watch.isStuck(101 + TIMEOUT, TIMEOUT)).isTrue();
    }

    @Test
    void should_not_take_more_octets_to_send_for_octets_taken() {
        for (int look = 0; look <= TIMEOUT; look++) {
            channel.writeAndFlush(octets(1));
            assertThat(watch.isStuck(look, TIMEOUT)).isFalse();
        }
        channel.writeAndFlush(octets(1));
        assertThat(watch.isStuck(TIMEOUT + 1, TIMEOUT)).isTrue();
    }

    @Test
    void should_see_every_octet_that_is_taken() {
        channel.writeAndFlush(octets(100));
        for (int look = 0; look < 100; look++) {
            assertThat(watch.isStuck(look * TIMEOUT * 2, TIMEOUT)).isFalse();
            channel.take(1);
        }
    }

    /** As pools give out again what was released last. */
    @Test
    void should_see_that_all_was_taken_though_the_same_buffer_waits_again() {
        ByteBuf same = octets(10);
        for (int look = 0; look < 100; look++) {
            channel.writeAndFlush(same.retain().readerIndex(0));
            assertThat(watch.isStuck(look * TIMEOUT * 2, TIMEOUT)).isFalse();
            channel.take(10);
        }
        same.release();
    }

    @Test
    void should_look_at_no_closed_channel() {
        channel.writeAndFlush(octets(1));
        watch.isStuck(0, TIMEOUT);
        channel.close();
        assertThat(watch.isStuck(1000, TIMEOUT)).isFalse();
    }
}
