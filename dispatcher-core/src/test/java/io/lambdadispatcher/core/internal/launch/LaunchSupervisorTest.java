package io.lambdadispatcher.core.internal.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import ch.qos.logback.classic.Level;
import io.lambdadispatcher.core.internal.direct.DirectFunction;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.fleet.FleetMember;
import io.lambdadispatcher.core.internal.fleet.FleetTime;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.DirectEventFormat;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchedWorker;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.wire.testkit.LoggedLines;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.util.concurrent.Ticker;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The supervisor on an event loop that the test runs step by step, with a launcher that records its
 * calls.
 */
class LaunchSupervisorTest {
    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final Launcher launcher = new Launcher();
    private final List<String> failures = new ArrayList<>();
    private FunctionPool pool =
            new FunctionPool(FunctionOptions.builder("f").build(), List.of(), DispatcherObserver.NONE);
    private final DirectFunction direct = new DirectFunction(
            "f", DirectOptions.of(DirectEventFormat.ALB), (function, event) -> new CompletableFuture<>());

    @BeforeEach
    void freeze() {
        loop.freezeTime();
    }

    private static final class Launcher implements WorkerLauncher {
        final List<CompletableFuture<WorkerExit>> exits = new ArrayList<>();
        final List<String> versions = new ArrayList<>();
        final List<String> ids = new ArrayList<>();
        int asked;
        int warmUps;
        boolean broken;
        boolean endsAtOnce;
        Supplier<LaunchedWorker> wrong;
        Runnable beforeLaunch = () -> {};

        @Override
        public LaunchedWorker launch(LaunchRequest request) {
            asked++;
            versions.add(request.version());
            ids.add(request.workerId());
            beforeLaunch.run();
            if (wrong != null) {
                return wrong.get();
            }
            if (broken) {
                throw new IllegalStateException("broken");
            }
            CompletableFuture<WorkerExit> exit = new CompletableFuture<>();
            exits.add(exit);
            if (endsAtOnce) {
                exit.complete(new WorkerExit(Cause.REFUSED, "at once"));
            }
            return new LaunchedWorker() {
                @Override
                public CompletionStage<WorkerExit> exit() {
                    return exit;
                }

                @Override
                public void kill() {
                    exit.complete(new WorkerExit(Cause.FAILED, "killed"));
                }
            };
        }

        @Override
        public CompletionStage<String> versionLike(String function, String stated) {
            return CompletableFuture.completedStage(stated.replace("release-", ""));
        }

        @Override
        public void warmUp(String function, int count) {
            warmUps += count;
        }

        @Override
        public void close(Duration grace) {}
    }

    private LaunchSupervisor started(CapacityPolicy policy) {
        LaunchSupervisor supervisor = created(policy);
        supervisor.start(List.of(InetSocketAddress.createUnresolved("a", 1)));
        pass(Duration.ofSeconds(1));
        return supervisor;
    }

    private LaunchSupervisor created(CapacityPolicy policy) {
        return created(policy, null);
    }

    private LaunchSupervisor created(CapacityPolicy policy, @Nullable FleetMember fleet) {
        pool = new FunctionPool(
                FunctionOptions.builder("f").capacity(policy).build(),
                List.of(loop.eventLoop()),
                DispatcherObserver.NONE);
        return new LaunchSupervisor(
                pool,
                launcher,
                new WorkerRegistry(Map.of(), Incidents.unobserved(), Ticker.systemTicker()),
                loop.eventLoop(),
                new LaunchSupervisor.Access(new byte[16], List.of()),
                direct,
                fleet,
                DispatcherObserver.NONE,
                Incidents.unobserved());
    }

    private void pass(Duration time) {
        for (long left = time.toMillis(); left > 0; left -= 10) {
            loop.advanceTimeBy(10, TimeUnit.MILLISECONDS);
            loop.runScheduledPendingTasks();
            loop.runPendingTasks();
        }
    }

    /**
     * A worker of the previous dispatcher may dial in as soon as the worker port is open. New
     * workers cannot be launched yet, because they would have no address to dial in to.
     */
    @Test
    void should_launch_nothing_before_it_is_started() {
        LaunchSupervisor supervisor = created(CapacityPolicy.fixed(3));
        supervisor.onWorkerDialled("earlier", WorkerKind.LAUNCHED);
        // It has a deadline. Otherwise it would be a base worker, which does not count as launched.
        supervisor.onWorkerReady("earlier", 1, Instant.now().plusSeconds(600), "");
        pass(Duration.ofSeconds(1));
        assertThat(launcher.asked).isZero();
        supervisor.start(List.of(InetSocketAddress.createUnresolved("a", 1)));
        pass(Duration.ofSeconds(1));
        assertThat(launcher.asked).isEqualTo(2);
    }

    @Test
    void should_launch_the_version_that_matches_the_base() {
        LaunchSupervisor supervisor = started(CapacityPolicy.between(0, 3));
        supervisor.onWorkerDialled("base", WorkerKind.BASE);
        supervisor.onWorkerReady("base", 1, null, "release-8");
        pass(Duration.ofSeconds(7));
        supervisor.setOptions(
                FunctionOptions.builder("f").capacity(CapacityPolicy.fixed(2)).build());
        pass(Duration.ofSeconds(2));

        assertThat(launcher.versions).containsExactly("8", "8");
    }

    @Test
    void should_take_a_launcher_that_throws_for_a_failed_launch() {
        launcher.broken = true;
        LaunchSupervisor supervisor = started(CapacityPolicy.fixed(1));
        pass(Duration.ofMinutes(3));

        // Without a back-off, there is one launch per second. With it, there are about a dozen.
        assertThat(launcher.asked).isBetween(3, 60);
        assertThat(supervisor.snapshot().blockedReason()).contains("broken");
    }

    private static Supplier<LaunchedWorker> exits(CompletionStage<WorkerExit> exit) {
        return worker(() -> exit, () -> {});
    }

    private static Supplier<LaunchedWorker> worker(Supplier<CompletionStage<WorkerExit>> exit, Runnable kill) {
        return () -> new LaunchedWorker() {
            @Override
            public CompletionStage<WorkerExit> exit() {
                return exit.get();
            }

            @Override
            public void kill() {
                kill.run();
            }
        };
    }

    private static <T> T thrown() {
        throw new NotImplemented();
    }

    /** As Kotlin's TODO() throws. */
    private static final class NotImplemented extends Error {}

    static Stream<Arguments> wrongLaunchers() {
        CompletableFuture<WorkerExit> never = new CompletableFuture<>();
        return Stream.of(
                arguments("the launcher threw", (Supplier<LaunchedWorker>) LaunchSupervisorTest::thrown),
                arguments("the launcher returned null", (Supplier<LaunchedWorker>) () -> null),
                arguments("exit() returned null", exits(null)),
                arguments("exit() threw", worker(LaunchSupervisorTest::thrown, () -> {})),
                arguments("exit() completed with null", exits(CompletableFuture.completedFuture(null))),
                arguments(
                        "exit() failed: java.io.IOException: no disk",
                        exits(CompletableFuture.failedFuture(new CompletionException(new IOException("no disk"))))),
                arguments("has reported no exit", exits(never)),
                arguments("has reported no exit", worker(() -> never, LaunchSupervisorTest::thrown)),
                arguments("the launcher gives no reason", new Supplier<LaunchedWorker>() {
                    @Override
                    public LaunchedWorker get() {
                        CompletableFuture<WorkerExit> killed = new CompletableFuture<>();
                        return worker(() -> killed, () -> killed.complete(new WorkerExit(Cause.FAILED, null)))
                                .get();
                    }
                }));
    }

    @ParameterizedTest
    @MethodSource("wrongLaunchers")
    void should_launch_with_a_backoff_whatever_is_wrong_with_a_launcher(
            String expected, Supplier<LaunchedWorker> wrong) {
        launcher.wrong = wrong;
        LaunchSupervisor supervisor = started(CapacityPolicy.fixed(1));
        int second = 0;
        while (supervisor.snapshot().blockedReason() == null && second++ < 70) {
            pass(Duration.ofSeconds(1));
        }
        assertThat(supervisor.snapshot().blockedReason()).contains(expected);
        pass(Duration.ofMinutes(3));
        assertThat(launcher.asked).isBetween(2, 60);

        launcher.wrong = null;
        int before = launcher.asked;
        pass(Duration.ofSeconds(125));
        assertThat(launcher.asked).as("the next launch").isGreaterThan(before);
    }

    @Test
    void should_name_a_launcher_that_blocks_the_event_loop() {
        LoggedLines log = LoggedLines.of(GuardedLauncher.class, Level.WARN);
        try (log) {
            launcher.beforeLaunch = () -> loop.advanceTimeBy(600, TimeUnit.MILLISECONDS);
            started(CapacityPolicy.fixed(1));
        }
        assertThat(log.messages())
                .singleElement()
                .asString()
                .contains("the launcher of function f has blocked an event loop for 600 ms in launch()");
    }

    private void request() {
        pool.shard(0)
                .open(
                        new DefaultHttp2Headers()
                                .method("POST")
                                .scheme("http")
                                .authority("a")
                                .path("/"),
                        true,
                        new SilentClient() {
                            @Override
                            public void onFailure(Failure failure) {
                                failures.add(failure.kind().token());
                            }
                        });
    }

    /** The default queue timeout is 10 s. */
    @Test
    void should_refuse_requests_while_the_circuit_is_open_but_not_while_a_probe_runs() {
        launcher.endsAtOnce = true;
        started(CapacityPolicy.between(0, 1));
        pass(Duration.ofSeconds(5));
        request();
        // The launch fails, which opens the circuit.
        pass(Duration.ofMillis(500));
        assertThat(failures).containsExactly("launches_blocked");
        request();
        assertThat(failures).hasSize(2);

        launcher.endsAtOnce = false;
        int before = launcher.asked;
        for (int second = 0; second < 65 && launcher.asked == before; second++) {
            pass(Duration.ofSeconds(1));
        }
        assertThat(launcher.asked).isEqualTo(before + 1);
        failures.clear();
        request();
        pass(Duration.ofSeconds(5));
        assertThat(failures).isEmpty();

        // The probe fails, too.
        launcher.exits.get(launcher.exits.size() - 1).complete(new WorkerExit(Cause.REFUSED, "again"));
        pass(Duration.ofMillis(500));
        assertThat(failures).containsExactly("launches_blocked");
    }

    @Test
    void should_count_workers_out_that_have_ended_when_their_launch_returns() {
        launcher.endsAtOnce = true;
        LaunchSupervisor supervisor = started(CapacityPolicy.fixed(2));

        assertThat(supervisor.snapshot().starting()).isZero();
        assertThat(supervisor.snapshot().blockedReason()).contains("at once");
    }

    @Test
    void should_keep_no_environment_warm_while_launching_is_switched_off() {
        LaunchSupervisor supervisor = started(
                CapacityPolicy.builder().workers(0, 1).prewarmedEnvironments(2).build());
        assertThat(launcher.warmUps).isEqualTo(2);
        supervisor.setLaunching(false);
        pass(Duration.ofMinutes(9));
        assertThat(launcher.warmUps).isEqualTo(2);

        supervisor.setLaunching(true);
        pass(Duration.ofMinutes(4));
        assertThat(launcher.warmUps).isEqualTo(4);
    }

    @Test
    void should_permit_no_overflow_while_launching_is_switched_off() {
        LaunchSupervisor supervisor = started(CapacityPolicy.between(0, 1));
        assertThat(direct.permitsOverflow()).isTrue();

        supervisor.setLaunching(false);
        pass(Duration.ofMillis(10));
        assertThat(direct.permitsOverflow()).isFalse();
        pass(Duration.ofSeconds(2));
        assertThat(direct.permitsOverflow()).isFalse();

        supervisor.setLaunching(true);
        pass(Duration.ofMillis(10));
        assertThat(direct.permitsOverflow()).isTrue();
    }

    @Test
    void should_leave_nothing_behind_on_an_event_loop_that_is_not_its_own() {
        LaunchSupervisor supervisor = started(
                CapacityPolicy.builder().workers(1, 1).prewarmedEnvironments(1).build());
        supervisor.close();
        pass(Duration.ofSeconds(2));
        assertThat(loop.runScheduledPendingTasks()).isPositive();

        launcher.exits.forEach(
                exit -> exit.complete(new WorkerLauncher.WorkerExit(WorkerLauncher.Cause.ENDED, "drained")));
        pass(Duration.ofSeconds(2));
        assertThat(launcher.asked).isEqualTo(1);
        assertThat(loop.runScheduledPendingTasks()).isEqualTo(-1);
    }

    // In a fleet.

    private final FleetMember member = new FleetMember(
            Ledger.inMemory(),
            loop.eventLoop(),
            new FleetTime() {
                @Override
                public long nanos() {
                    return loop.eventLoop().ticker().nanoTime();
                }

                @Override
                public long millis() {
                    return TimeUnit.NANOSECONDS.toMillis(nanos());
                }
            },
            new Random(1),
            Incidents.unobserved(),
            peers -> {},
            message -> {});

    private void passInFleet(int seconds) {
        for (int i = 0; i < seconds; i++) {
            member.tick();
            pass(Duration.ofSeconds(1));
        }
    }

    private void ready(LaunchSupervisor supervisor, String workerId) {
        supervisor.onWorkerDialled(workerId, WorkerKind.LAUNCHED);
        supervisor.onWorkerReady(workerId, 1, Instant.now().plusSeconds(300), "");
        passInFleet(3);
    }

    /**
     * A worker drains and says goodbye to this dispatcher. Its replacement is ready. It may still
     * serve other dispatchers.
     */
    private void partedWorker() {
        LaunchSupervisor supervisor = created(CapacityPolicy.fixed(1), member);
        supervisor.start(List.of(InetSocketAddress.createUnresolved("a", 1)));
        passInFleet(5);
        ready(supervisor, launcher.ids.get(0));
        supervisor.drain(List.of(launcher.ids.get(0)));
        passInFleet(3);
        supervisor.onWorkerGone(launcher.ids.get(0), true);
        ready(supervisor, launcher.ids.get(1));
        assertThat(launcher.asked).isEqualTo(2);
    }

    @Test
    void should_keep_the_slot_of_a_drained_worker_until_its_exit() {
        partedWorker();
        assertThat(member.snapshot().functions().get(0).replaced()).isEqualTo(1);

        launcher.exits.get(0).complete(new WorkerExit(Cause.ENDED, "drained"));
        passInFleet(3);
        assertThat(member.snapshot().functions().get(0).replaced()).isZero();
    }

    /** It was told to drain within five minutes, less half a second. */
    @Test
    void should_kill_no_drained_worker_while_it_may_serve_other_dispatchers() {
        partedWorker();
        passInFleet(270);
        assertThat(launcher.exits.get(0)).isNotDone();

        passInFleet(60);
        assertThat(launcher.exits.get(0)).isDone();
    }
}
