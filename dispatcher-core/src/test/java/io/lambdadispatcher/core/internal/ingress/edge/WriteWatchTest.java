package io.lambdadispatcher.core.internal.ingress.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class WriteWatchTest {
    private static final int TIMEOUT_SECONDS = 5;
    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(TIMEOUT_SECONDS);
    private static final int MIN_RATE = 200;

    private final Socket channel = new Socket();
    private final WriteWatch watch = new WriteWatch(channel);
    private long nowNanos;

    /** A socket that accepts as many bytes as the test says. */
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

        void take(int bytes) {
            room = bytes;
            flush();
        }
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private static ByteBuf bytes(int count) {
        return Unpooled.buffer().writeZero(count);
    }

    /**
     * Checks the client once a second.
     *
     * @return after how many checks the client was too slow, or 0
     */
    private int looksUntilTooSlow(int looks, int bytesTakenPerLook) {
        for (int look = 1; look <= looks; look++) {
            nowNanos += LoopWatch.PERIOD_NANOS;
            if (watch.isTooSlow(nowNanos, TIMEOUT_NANOS, MIN_RATE)) {
                return look;
            }
            channel.take(bytesTakenPerLook);
        }
        return 0;
    }

    @Test
    void should_wait_for_nobody_to_whom_nothing_is_sent() {
        assertThat(looksUntilTooSlow(100, 0)).isZero();
        channel.write(bytes(1));
        nowNanos += 100 * LoopWatch.PERIOD_NANOS;
        assertThat(watch.isTooSlow(nowNanos, TIMEOUT_NANOS, MIN_RATE))
                .as("not flushed")
                .isFalse();
    }

    @Test
    void should_count_the_timeout_from_the_first_look_that_finds_something_waiting() {
        assertThat(looksUntilTooSlow(10, 0)).isZero();
        channel.writeAndFlush(bytes(1));
        assertThat(looksUntilTooSlow(100, 0)).isEqualTo(1 + TIMEOUT_SECONDS + 1);
    }

    @Test
    void should_count_ten_seconds_for_a_client_that_takes_something_but_too_little() {
        channel.writeAndFlush(bytes(100_000));
        assertThat(looksUntilTooSlow(100, MIN_RATE / 100)).isEqualTo(12);
    }

    @Test
    void should_not_take_more_bytes_to_send_for_bytes_taken() {
        int look = 0;
        do {
            channel.writeAndFlush(bytes(1000));
            look++;
        } while (look < 100 && looksUntilTooSlow(1, 0) == 0);
        assertThat(look).isEqualTo(1 + TIMEOUT_SECONDS + 1);
    }

    @Test
    void should_leave_a_client_alone_that_takes_the_minimum_rate() {
        channel.writeAndFlush(bytes(100_000));
        assertThat(looksUntilTooSlow(300, MIN_RATE)).isZero();
    }

    @Test
    void should_count_what_is_taken_of_what_came_later() {
        channel.writeAndFlush(bytes(10_000));
        for (int look = 0; look < 100; look++) {
            assertThat(looksUntilTooSlow(1, 1000)).isZero();
            channel.writeAndFlush(bytes(1000));
        }
    }

    /** Otherwise, a client that has read a gigabyte could stop reading for a month. */
    @Test
    void should_not_let_a_client_live_on_what_it_took_long_ago() {
        channel.writeAndFlush(bytes(10_000_000));
        assertThat(looksUntilTooSlow(10, 500_000)).isZero();
        assertThat(looksUntilTooSlow(100, 1)).isBetween(30, 32);
    }

    /** The process, or the machine, was paused. */
    @Test
    void should_not_blame_the_client_for_a_late_look() {
        channel.writeAndFlush(bytes(100_000));
        looksUntilTooSlow(3, 0);
        nowNanos += TimeUnit.HOURS.toNanos(1);
        assertThat(looksUntilTooSlow(1, 0)).isZero();
    }

    @Test
    void should_leave_the_pipeline_when_nothing_waits() {
        channel.writeAndFlush(bytes(10));
        looksUntilTooSlow(1, 0);
        assertThat(channel.pipeline().names()).hasSize(2);
        channel.take(10);
        looksUntilTooSlow(1, 0);
        assertThat(channel.pipeline().names()).hasSize(1);
    }

    @Test
    void should_look_at_no_closed_channel() {
        channel.writeAndFlush(bytes(1));
        looksUntilTooSlow(1, 0);
        channel.close();
        assertThat(looksUntilTooSlow(100, 0)).isZero();
    }
}
