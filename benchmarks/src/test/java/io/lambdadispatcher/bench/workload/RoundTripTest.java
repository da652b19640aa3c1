package io.lambdadispatcher.bench.workload;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.embedded.EmbeddedChannel;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RoundTripTest {
    private static final long NANOS = 1000;

    private EmbeddedChannel channel;

    @BeforeEach
    void open() {
        channel = new EmbeddedChannel();
        channel.freezeTime();
        channel.pipeline().addLast(new RoundTrip(NANOS));
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    @Test
    void should_hold_the_first_bytes_for_two_round_trips() {
        channel.writeInbound("hello");

        assertThat(arrivedAfter(2 * NANOS - 1)).isNull();
        assertThat(arrivedAfter(1)).isEqualTo("hello");
    }

    @Test
    void should_hold_later_bytes_for_one() {
        channel.writeInbound("hello");
        arrivedAfter(2 * NANOS);
        channel.writeInbound("more");

        assertThat(arrivedAfter(NANOS - 1)).isNull();
        assertThat(arrivedAfter(1)).isEqualTo("more");
    }

    @Test
    void should_keep_the_order_of_what_follows_at_once() {
        channel.writeInbound("one", "two", "three");

        assertThat(arrivedAfter(2 * NANOS)).isEqualTo("one");
        assertThat(channel.<String>readInbound()).isEqualTo("two");
        assertThat(channel.<String>readInbound()).isEqualTo("three");
    }

    private String arrivedAfter(long nanos) {
        channel.advanceTimeBy(nanos, TimeUnit.NANOSECONDS);
        channel.runScheduledPendingTasks();
        return channel.readInbound();
    }
}
