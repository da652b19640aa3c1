package io.lambdadispatcher.wire.http2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class CoalescedFlushTest {
    private int flushes;
    private int againAtFlush;
    private boolean failing;

    private final ChannelOutboundHandlerAdapter handler = new ChannelOutboundHandlerAdapter() {
        @Override
        public void flush(ChannelHandlerContext ctx) throws Exception {
            flushes++;
            if (flushes == againAtFlush) {
                flush.request();
            }
            if (failing) {
                throw new IllegalStateException("no flush today");
            }
            super.flush(ctx);
        }
    };
    private final EmbeddedChannel channel = new EmbeddedChannel(handler);
    private final CoalescedFlush flush =
            new CoalescedFlush(handler, channel.pipeline().context(handler));

    @AfterEach
    void finish() {
        channel.finishAndReleaseAll();
    }

    @Test
    void should_flush_once_for_all_requests_of_a_turn() {
        flush.request();
        flush.request();
        assertThat(flushes).isZero();
        channel.runPendingTasks();
        assertThat(flushes).isOne();
        channel.runPendingTasks();
        assertThat(flushes).isOne();
    }

    @Test
    void should_flush_again_in_a_later_turn() {
        flush.request();
        channel.runPendingTasks();
        flush.request();
        channel.runPendingTasks();
        assertThat(flushes).isEqualTo(2);
    }

    @Test
    void should_not_lose_a_request_made_within_a_flush() {
        againAtFlush = 1;
        flush.request();
        channel.runPendingTasks();
        assertThat(flushes).isEqualTo(2);
    }

    @Test
    void should_pass_a_failure_on_and_flush_again_when_asked() {
        failing = true;
        flush.request();
        channel.runPendingTasks();
        assertThatThrownBy(channel::checkException).hasMessage("no flush today");
        failing = false;
        flush.request();
        channel.runPendingTasks();
        channel.checkException();
        assertThat(flushes).isEqualTo(2);
    }
}
