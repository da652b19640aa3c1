package io.lambdadispatcher.core.internal.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchRequest;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchedWorker;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.netty.channel.embedded.EmbeddedChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class WorkerLaunchesTest {
    private static final Duration AT_MOST = Duration.ofSeconds(30);
    private static final WorkerExit DRAINED = new WorkerExit(Cause.ENDED, "drained");

    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final List<String> exits = new ArrayList<>();
    private final CompletableFuture<WorkerExit> exit = new CompletableFuture<>();
    private int kills;
    private final WorkerLaunches launches = new WorkerLaunches(
            "f",
            new GuardedLauncher(new Launcher(), "f", loop.eventLoop()),
            new WorkerRegistry(Map.of()),
            loop.eventLoop(),
            DispatcherObserver.NONE,
            (id, how) -> exits.add(id + " " + how.cause() + " " + how.detail()));

    private final class Launcher implements WorkerLauncher {
        @Override
        public LaunchedWorker launch(LaunchRequest request) {
            return new LaunchedWorker() {
                @Override
                public CompletionStage<WorkerExit> exit() {
                    return exit;
                }

                @Override
                public void kill() {
                    kills++;
                }
            };
        }

        @Override
        public void close(Duration grace) {}
    }

    @BeforeEach
    void launch() {
        loop.freezeTime();
        launches.launch(new LaunchRequest("f", "w", "", List.of(), 1, 1, List.of(), Duration.ZERO, "", 0));
    }

    private void pass(Duration time) {
        loop.advanceTimeBy(time.toNanos(), TimeUnit.NANOSECONDS);
        loop.runScheduledPendingTasks();
        loop.runPendingTasks();
    }

    @Test
    void should_report_an_exit_on_the_executor() {
        exit.complete(DRAINED);
        assertThat(exits).isEmpty();
        assertThat(launches.contains("w")).isTrue();
        pass(Duration.ZERO);
        assertThat(exits).containsExactly("w ENDED drained");
        assertThat(launches.isEmpty()).isTrue();
    }

    @Test
    void should_say_why_a_worker_was_killed() {
        assertThat(launches.kill("w", "does not answer", AT_MOST)).isTrue();
        assertThat(kills).isOne();
        assertThat(launches.contains("w")).isTrue();
        exit.complete(new WorkerExit(Cause.FAILED, "exit code 137"));
        pass(Duration.ZERO);
        assertThat(exits).containsExactly("w FAILED the worker does not answer. The launcher says: exit code 137");
        pass(AT_MOST);
        assertThat(exits).hasSize(1);
    }

    @Test
    void should_report_the_exit_of_a_killed_worker_once_though_its_launcher_reports_it_too_late() {
        launches.kill("w", "does not answer", AT_MOST);
        pass(AT_MOST.minusNanos(1));
        assertThat(exits).isEmpty();
        pass(Duration.ofNanos(1));
        assertThat(exits).singleElement().asString().startsWith("w LOST ").endsWith("has reported no exit");
        exit.complete(DRAINED);
        pass(Duration.ZERO);
        assertThat(exits).hasSize(1);
    }

    @Test
    void should_kill_no_worker_that_has_ended_or_was_launched_elsewhere() {
        exit.complete(DRAINED);
        pass(Duration.ZERO);
        assertThat(launches.kill("w", "does not answer", AT_MOST)).isFalse();
        assertThat(launches.kill("other", "does not answer", AT_MOST)).isFalse();
        assertThat(kills).isZero();
    }
}
