package io.lambdadispatcher.core.internal.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.capacity.NamedVersion;
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
    private final List<NamedVersion> named = new ArrayList<>();
    private final VersionFollower follower = new VersionFollower(
            "f", new GuardedLauncher(new Launcher(), "f", loop.eventLoop()), loop.eventLoop(), named::add);

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
        public CompletionStage<String> versionLike(String function, String stated) {
            return CompletableFuture.completedStage(stated.startsWith("release-") ? stated.substring(8) : "");
        }

        @Override
        public void close(Duration grace) {}
    }

    private List<String> versions() {
        return named.stream().map(NamedVersion::version).toList();
    }

    private void answer(String version) {
        questions.get(questions.size() - 1).complete(version);
        loop.runPendingTasks();
    }

    @Test
    void should_ask_immediately_and_then_once_in_each_interval() {
        long start = Long.MAX_VALUE - 50; // the clock may overflow
        follower.ask(start, INTERVAL, false, "");
        answer("1");
        follower.ask(start + INTERVAL - 1, INTERVAL, false, "");
        assertThat(questions).hasSize(1);
        follower.ask(start + INTERVAL, INTERVAL, false, "");
        assertThat(questions).hasSize(2);
        answer("2");
        assertThat(versions()).containsExactly("1", "2");
    }

    @Test
    void should_ask_at_once_for_another_version_of_the_base() {
        follower.ask(0, INTERVAL, false, "release-8");
        answer("7");
        follower.ask(1, INTERVAL, false, "release-8");
        follower.ask(2, INTERVAL, false, "release-9");
        answer("7");

        assertThat(named)
                .containsExactly(new NamedVersion("7", "release-8", "8"), new NamedVersion("7", "release-9", "9"));
        assertThat(questions).hasSize(2);
    }

    @Test
    void should_pass_on_the_launchers_own_version_if_none_matches_the_base() {
        follower.ask(0, INTERVAL, false, "1.4.2");
        loop.runPendingTasks();
        answer("7");

        assertThat(named).containsExactly(new NamedVersion("7", "1.4.2", ""));
    }

    @Test
    void should_ask_early_but_not_before_an_answer() {
        follower.ask(0, INTERVAL, false, "");
        follower.ask(1, INTERVAL, true, "");
        follower.ask(INTERVAL, INTERVAL, false, "");
        assertThat(questions).hasSize(1);
        answer("1");
        follower.ask(2, INTERVAL, true, "");
        assertThat(questions).hasSize(2);
    }

    @Test
    void should_ask_again_after_a_failure_and_pass_on_nothing_of_it() {
        follower.ask(0, INTERVAL, false, "");
        questions.get(0).completeExceptionally(new IllegalStateException("throttled"));
        loop.runPendingTasks();
        assertThat(versions()).isEmpty();
        follower.ask(INTERVAL, INTERVAL, false, "");
        answer("2");
        assertThat(versions()).containsExactly("2");
    }
}
