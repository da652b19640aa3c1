package io.lambdadispatcher.wire.http2;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LivenessProbeTest {
    private static final long INTERVAL_MILLIS = 2000;
    private static final long TIMEOUT_MILLIS = 3000;
    private static final long LAST_LOOK_MILLIS = 50;

    private final List<String> events = new ArrayList<>();
    private boolean answers;
    private final EmbeddedChannel channel = new EmbeddedChannel();

    @BeforeEach
    void freeze() {
        channel.freezeTime();
    }

    @AfterEach
    void finish() {
        channel.finishAndReleaseAll();
    }

    private void pass(long millis) {
        channel.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        channel.runScheduledPendingTasks();
    }

    private void watch() {
        channel.pipeline()
                .addLast(new LivenessProbe(
                        INTERVAL_MILLIS,
                        TIMEOUT_MILLIS,
                        this::onProbe,
                        silentMillis -> events.add("silent for " + silentMillis)));
    }

    private void onProbe() {
        events.add("probe");
        if (answers) {
            channel.writeInbound("pong");
        }
    }

    @Test
    void should_probe_after_the_interval_and_give_up_after_the_timeout() {
        watch();
        pass(INTERVAL_MILLIS - 1);
        assertThat(events).isEmpty();
        pass(1);
        assertThat(events).containsExactly("probe");
        pass(TIMEOUT_MILLIS - LAST_LOOK_MILLIS);
        pass(LAST_LOOK_MILLIS - 1);
        assertThat(events).containsExactly("probe");
        pass(1);
        assertThat(events).containsExactly("probe", "silent for 5000");
        pass(1_000_000);
        assertThat(events).hasSize(2);
    }

    @Test
    void should_keep_a_peer_that_has_nothing_to_say_but_answers() {
        answers = true;
        watch();
        for (int i = 0; i < 1000; i++) {
            pass(500);
        }
        assertThat(events)
                .doesNotContain("silent for 5000")
                .hasSizeBetween(200, 250)
                .containsOnly("probe");
    }

    @Test
    void should_keep_a_peer_whose_answer_comes_at_the_last_moment() {
        watch();
        for (int i = 0; i < 10; i++) {
            events.clear();
            while (events.isEmpty()) {
                pass(1);
            }
            pass(TIMEOUT_MILLIS - 1);
            channel.writeInbound("pong");
            assertThat(events).containsExactly("probe");
        }
    }

    /** All timers are due at once when it goes on, and the answer has long come. */
    @Test
    void should_read_before_it_gives_up_when_the_event_loop_was_held_up() {
        watch();
        pass(INTERVAL_MILLIS);
        pass(10 * TIMEOUT_MILLIS);
        channel.writeInbound("pong");
        pass(INTERVAL_MILLIS - 1);
        assertThat(events).containsExactly("probe");
    }

    /** Which may have been held up as well, or not have got the probe before. */
    @Test
    void should_give_the_peer_time_again_when_the_event_loop_was_held_up() {
        watch();
        pass(INTERVAL_MILLIS);
        pass(10 * TIMEOUT_MILLIS);
        pass(TIMEOUT_MILLIS - 1);
        assertThat(events).containsExactly("probe");
        pass(1);
        assertThat(events).containsExactly("probe", "silent for 35000");
    }

    @Test
    void should_not_probe_a_peer_that_is_heard_of() {
        watch();
        for (int i = 0; i < 100; i++) {
            pass(INTERVAL_MILLIS - 1);
            channel.writeInbound("bytes");
        }
        assertThat(events).isEmpty();
        assertThat(channel.inboundMessages()).hasSize(100);
    }

    @Test
    void should_notice_silence_after_life() {
        answers = true;
        watch();
        pass(INTERVAL_MILLIS);
        answers = false;
        events.clear();
        for (int millis = 0; millis < INTERVAL_MILLIS + TIMEOUT_MILLIS; millis += LAST_LOOK_MILLIS) {
            pass(LAST_LOOK_MILLIS);
        }
        assertThat(events).containsExactly("probe", "silent for 5000");
    }

    @Test
    void should_be_quiet_after_the_channel_has_closed() {
        watch();
        channel.close();
        pass(1_000_000);
        watch();
        pass(1_000_000);
        assertThat(events).isEmpty();
    }
}
