package io.lambdadispatcher.core.internal.ingress.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LoopWatchTest {
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final List<String> looks = new ArrayList<>();
    private LoopWatch watch;

    @BeforeEach
    void freeze() {
        channel.freezeTime();
        watch = LoopWatch.of(channel.eventLoop());
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private void passSeconds(int seconds) {
        channel.advanceTimeBy(seconds, TimeUnit.SECONDS);
        channel.runPendingTasks();
    }

    @Test
    void should_be_one_for_each_event_loop() {
        assertThat(LoopWatch.of(channel.eventLoop())).isSameAs(watch);
        EmbeddedChannel other = new EmbeddedChannel();
        assertThat(LoopWatch.of(other.eventLoop())).isNotSameAs(watch);
        other.finishAndReleaseAll();
    }

    @Test
    void should_look_at_all_each_second_and_set_no_timer_for_none() {
        LoopWatch.Watched a = now -> looks.add("a");
        LoopWatch.Watched b = now -> looks.add("b");
        watch.add(a);
        watch.add(b);
        passSeconds(1);
        assertThat(looks).containsExactly("a", "b");
        watch.remove(a);
        passSeconds(1);
        assertThat(looks).containsExactly("a", "b", "b");
        watch.remove(b);
        assertThat(channel.runScheduledPendingTasks()).isEqualTo(-1);
        watch.add(a);
        passSeconds(1);
        assertThat(looks).endsWith("a").hasSize(4);
    }

    /** Otherwise, clients would be blamed for bytes that are not read yet. */
    @Test
    void should_leave_out_one_look_after_a_pause() {
        watch.add(now -> looks.add("a"));
        passSeconds(1);
        passSeconds(20);
        assertThat(looks).hasSize(1);
        passSeconds(1);
        assertThat(looks).hasSize(2);
    }

    @Test
    void should_look_at_the_others_when_one_leaves_or_fails() {
        LoopWatch.Watched leaving = new LoopWatch.Watched() {
            @Override
            public void look(long nowNanos) {
                looks.add("leaves");
                watch.remove(this);
            }
        };
        watch.add(leaving);
        watch.add(now -> {
            looks.add("fails");
            throw new IllegalStateException("expected");
        });
        watch.add(now -> looks.add("stays"));
        passSeconds(1);
        passSeconds(1);
        assertThat(looks).containsExactly("leaves", "fails", "stays", "stays");
    }
}
