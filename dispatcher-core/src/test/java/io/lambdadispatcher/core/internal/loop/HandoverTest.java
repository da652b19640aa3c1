package io.lambdadispatcher.core.internal.loop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.channel.DefaultEventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class HandoverTest {
    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final Handover handover = new Handover(loop.eventLoop());
    private final List<String> calls = new ArrayList<>();

    @Test
    void should_run_calls_in_order_and_those_that_they_post() {
        handover.post(() -> {
            calls.add("first");
            handover.post(() -> calls.add("third"));
        });
        handover.post(() -> calls.add("second"));
        assertThat(calls).isEmpty();
        loop.runPendingTasks();
        assertThat(calls).containsExactly("first", "second", "third");
    }

    @Test
    void should_run_what_is_behind_a_call_that_throws() {
        handover.post(() -> {
            throw new IllegalStateException("broken");
        });
        handover.post(() -> calls.add("next"));
        loop.runPendingTasks();
        assertThatThrownBy(loop::checkException).hasMessage("broken");
        loop.runPendingTasks();
        assertThat(calls).containsExactly("next");
    }

    @Test
    void should_refuse_every_call_after_the_loop_has_ended() {
        DefaultEventLoop ended = new DefaultEventLoop();
        ended.shutdownGracefully(0, 0, TimeUnit.SECONDS).syncUninterruptibly();
        Handover late = new Handover(ended);
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(() -> late.post(() -> {})).isInstanceOf(RejectedExecutionException.class);
        }
    }
}
