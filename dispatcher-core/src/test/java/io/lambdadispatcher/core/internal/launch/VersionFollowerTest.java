package io.lambdadispatcher.core.internal.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.netty.channel.embedded.EmbeddedChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

class VersionFollowerTest {
    private static final long INTERVAL = 100;

    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final List<CompletableFuture<String>> questions = new ArrayList<>();
    private final List<String> versions = new ArrayList<>();
    private final VersionFollower follower = new VersionFollower(
            "f", new GuardedLauncher(new Launcher(), "f", loop.eventLoop()), loop.eventLoop(), versions::add);

    private final class Launcher implements WorkerLauncher {
        @Override
        public LaunchedWorker launch(LaunchRequest request) {
            throw new AssertionError("asked for a version only");
        }

        @Override
        public CompletionStage<String> version(String function) {
            CompletableFuture<String> question = new CompletableFuture<>();
            questions.add(question);
            return question;
        }

        @Override
        public void close(Duration grace) {}
    }

    private void answer(String version) {
        questions.get(questions.size() - 1).complete(version);
        loop.runPendingTasks();
    }

    @Test
    void should_ask_immediately_and_then_once_in_each_interval() {
        long start = Long.MAX_VALUE - 50; // the clock may overflow
        follower.ask(start, INTERVAL, false);
        answer("1");
        follower.ask(start + INTERVAL - 1, INTERVAL, false);
        assertThat(questions).hasSize(1);
        follower.ask(start + INTERVAL, INTERVAL, false);
        assertThat(questions).hasSize(2);
        answer("2");
        assertThat(versions).containsExactly("1", "2");
    }

    @Test
    void should_ask_early_but_not_before_an_answer() {
        follower.ask(0, INTERVAL, false);
        follower.ask(1, INTERVAL, true);
        follower.ask(INTERVAL, INTERVAL, false);
        assertThat(questions).hasSize(1);
        answer("1");
        follower.ask(2, INTERVAL, true);
        assertThat(questions).hasSize(2);
    }

    @Test
    void should_ask_again_after_a_failure_and_pass_on_nothing_of_it() {
        follower.ask(0, INTERVAL, false);
        questions.get(0).completeExceptionally(new IllegalStateException("throttled"));
        loop.runPendingTasks();
        assertThat(versions).isEmpty();
        follower.ask(INTERVAL, INTERVAL, false);
        answer("2");
        assertThat(versions).containsExactly("2");
    }
}
