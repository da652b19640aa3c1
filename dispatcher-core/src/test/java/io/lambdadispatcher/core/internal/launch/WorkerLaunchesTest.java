package io.lambdadispatcher.core.internal.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import ch.qos.logback.classic.Level;
import io.lambdadispatcher.core.internal.capacity.Plan;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.core.testkit.RecordingLauncher;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.LoggedLines;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.concurrent.Ticker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class WorkerLaunchesTest {
    private static final Duration AT_MOST = Duration.ofSeconds(30);
    private static final WorkerExit DRAINED = new WorkerExit(Cause.ENDED, "drained");

    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final List<String> exits = new ArrayList<>();
    private int kills;
    private final RecordingLauncher launcher = new RecordingLauncher(worker -> {}, worker -> kills++);
    private CompletableFuture<WorkerExit> exit;
    private final List<String> launched = new ArrayList<>();
    private final List<String> notLaunchedHere = new ArrayList<>();
    private final FunctionOptions function = FunctionOptions.builder("f")
            .launching(LaunchLimits.builder().launchTimeout(AT_MOST).build())
            .build();
    private final RecordingObserver observer = new RecordingObserver();
    private String endReason = "";
    private final WorkerLaunches launches = new WorkerLaunches(
            new FunctionPool(function, List.of(), DispatcherObserver.NONE),
            new GuardedLauncher(launcher, "f", loop.eventLoop()),
            new LaunchRequests(null, new LaunchSupervisor.Access(new byte[16], List.of())),
            new WorkerRegistry(Map.of(), Incidents.unobserved(), Ticker.systemTicker()),
            loop.eventLoop(),
            observer,
            new Incidents(observer, Ticker.systemTicker()),
            new WorkerLaunches.Outcomes() {
                @Override
                public void onLaunched(String workerId, Plan.Launch launch) {
                    launched.add(workerId);
                }

                @Override
                public void onExit(String workerId, WorkerExit how) {
                    exits.add(how.cause() + " " + how.detail());
                }

                @Override
                public String endReason(String workerId) {
                    return endReason;
                }

                @Override
                public void onNotLaunchedHere(String workerId) {
                    notLaunchedHere.add(workerId);
                }
            });

    @BeforeEach
    void launch() {
        loop.freezeTime();
        Plan.Launch launch = new Plan.Launch("7", 3, "minimum");
        launches.carryOut(new Plan(List.of(launch), List.of(), List.of(), List.of(), List.of(), 0, false), function);
        assertThat(launched).hasSize(1);
        RecordingLauncher.AbsentWorker worker = launcher.workers.remove();
        exit = worker.exit();
        assertThat(worker.request()).matches(asked -> asked.version().equals("7") && asked.downstreamShare() == 3);
    }

    private void kill(String id) {
        Plan.Kill kill = new Plan.Kill(id, "does not answer");
        launches.carryOut(new Plan(List.of(), List.of(), List.of(kill), List.of(), List.of(), 0, false), function);
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
        assertThat(launches.contains(launched.get(0))).isTrue();
        pass(Duration.ZERO);
        assertThat(exits).containsExactly("ENDED drained");
        assertThat(launches.isEmpty()).isTrue();
    }

    @Test
    void should_tell_why_a_worker_was_launched_and_why_it_has_ended() {
        assertThat(observer.launches)
                .extracting(RecordingObserver.Launch::workerId, RecordingObserver.Launch::reason)
                .containsExactly(tuple(launched.get(0), "minimum"));
        endReason = "ejected";
        exit.complete(DRAINED);
        pass(Duration.ZERO);
        assertThat(observer.launchEnds).containsExactly(new RecordingObserver.LaunchEnd(launched.get(0), "ejected"));
    }

    /** Why it drained does not tell why it has failed. */
    @Test
    void should_tell_how_a_worker_has_failed() {
        endReason = "ejected";
        exit.complete(new WorkerExit(Cause.FAILED, "exit code 137"));
        pass(Duration.ZERO);
        assertThat(observer.launchEnds)
                .containsExactly(new RecordingObserver.LaunchEnd(launched.get(0), "exit code 137"));
    }

    /** It is an incident, because nobody knows what the worker costs. */
    @Test
    void should_tell_that_its_launcher_has_lost_sight_of_a_worker() {
        exit.complete(new WorkerExit(Cause.LOST, "the connection was reset"));
        pass(Duration.ZERO);
        String id = launched.get(0);
        assertThat(observer.incidents)
                .singleElement()
                .asString()
                .isEqualTo("incident begins: launched workers of function f fail (lost): worker " + id
                        + " may still run, but its launcher has lost sight of it: the connection was reset");
    }

    @Test
    void should_log_that_a_worker_gets_fewer_requests() {
        LoggedLines log = LoggedLines.of(WorkerLaunches.class, Level.INFO);
        try (log) {
            Plan.Limit limit = new Plan.Limit("w", 7, "its event loop is 300 ms late");
            Plan.Limit none = new Plan.Limit("w", Plan.Limit.NONE, "it is less loaded");
            launches.carryOut(
                    new Plan(List.of(), List.of(), List.of(), List.of(limit, none), List.of(), 0, false), function);
        }
        assertThat(log.messages())
                .containsExactly(
                        "worker w of f now gets at most 7 concurrent requests: its event loop is 300 ms late",
                        "worker w of f is no longer limited: it is less loaded");
    }

    @Test
    void should_say_why_a_worker_was_killed() {
        kill(launched.get(0));
        assertThat(kills).isOne();
        assertThat(launches.contains(launched.get(0))).isTrue();
        exit.complete(new WorkerExit(Cause.FAILED, "exit code 137"));
        pass(Duration.ZERO);
        assertThat(exits).containsExactly("FAILED the worker does not answer. The launcher says: exit code 137");
        pass(AT_MOST);
        assertThat(exits).hasSize(1);
    }

    @Test
    void should_report_the_exit_of_a_killed_worker_once_though_its_launcher_reports_it_too_late() {
        kill(launched.get(0));
        pass(AT_MOST.minusNanos(1));
        assertThat(exits).isEmpty();
        pass(Duration.ofNanos(1));
        assertThat(exits).singleElement().asString().startsWith("LOST ").endsWith("has reported no exit");
        exit.complete(DRAINED);
        pass(Duration.ZERO);
        assertThat(exits).hasSize(1);
    }

    @Test
    void should_kill_no_worker_that_has_ended_or_was_launched_elsewhere() {
        exit.complete(DRAINED);
        pass(Duration.ZERO);
        kill(launched.get(0));
        kill("other");
        assertThat(notLaunchedHere).containsExactly(launched.get(0), "other");
        assertThat(kills).isZero();
    }
}
