package io.lambdadispatcher.core.internal.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.core.testkit.RecordingLauncher;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests which dial-ins of a launched worker are accepted, from its launch to its end.
 */
class LaunchedWorkerTest {
    private static final byte[] SECRET = "sixteen bytes at least".getBytes(StandardCharsets.UTF_8);

    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final RecordingLauncher launches = new RecordingLauncher();
    private final RecordingObserver observer = new RecordingObserver();
    private final Dispatcher dispatcher = Dispatcher.builder()
            .function(FunctionOptions.builder("f")
                    .capacity(CapacityPolicy.fixed(1))
                    .build())
            .workerListener(ListenerOptions.plain("127.0.0.1", 0))
            .secret(SECRET)
            .launcher(launches)
            .eventLoops(1)
            .observer(observer)
            .start();

    @AfterEach
    void stop() throws Exception {
        dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    private static <T> T next(BlockingQueue<T> queue) throws Exception {
        T next = queue.poll(10, TimeUnit.SECONDS);
        assertThat(next).isNotNull();
        return next;
    }

    private ScriptedWorker dial(String token) throws Exception {
        return new ScriptedWorker(loops, dispatcher.workerAddress(), token);
    }

    private static String expired(String workerId) {
        return new LaunchToken("f", workerId, Instant.now().minusSeconds(1)).sign(LaunchToken.key(SECRET, "f"));
    }

    private void expectRefusal(String token, int status) throws Exception {
        try (ScriptedWorker worker = dial(token)) {
            worker.openControl();
            worker.expect("1 :status " + status);
            worker.awaitClosed();
        }
    }

    /** Operators search docs/guides/troubleshoot.md for these words. */
    @ParameterizedTest
    @CsvSource({
        "another secret of a worker, f, 60, 401, token, launch token with a wrong signature",
        "sixteen bytes at least, g, 60, 403, function, 'function g, which is not configured'",
        "sixteen bytes at least, f, -1, 401, expired, launch token of worker w expired at "
    })
    void should_say_why_a_worker_is_rejected(
            String secret, String function, int seconds, int status, String code, String words) throws Exception {
        byte[] key = LaunchToken.key(secret.getBytes(StandardCharsets.UTF_8), function);
        expectRefusal(new LaunchToken(function, "w", Instant.now().plusSeconds(seconds)).sign(key), status);

        assertThat(observer.incidents)
                .singleElement()
                .asString()
                .startsWith("incident begins: workers that dial in are rejected (" + code + "): ")
                .contains(words);
    }

    @Test
    void should_let_a_worker_back_in_after_its_token_has_expired() throws Exception {
        WorkerLauncher.LaunchRequest request = launches.next().request();
        String id = request.workerId();
        dial(request.token()).ready(1).close();
        assertThat(next(observer.partings).workerId()).isEqualTo(id);

        try (ScriptedWorker back = dial(expired(id))) {
            back.ready(1);
        }
    }

    /** Otherwise, all dispatchers of a fleet would leave the load balancer with one worker. */
    @Test
    void should_stay_ready_with_one_worker_after_it_has_had_its_minimum() throws Exception {
        WorkerLauncher.LaunchRequest first = launches.next().request();
        dispatcher
                .change()
                .function(FunctionOptions.builder("f")
                        .capacity(CapacityPolicy.fixed(2))
                        .build())
                .apply();
        WorkerLauncher.LaunchRequest second = launches.next().request();

        try (ScriptedWorker one = dial(first.token()).ready(1)) {
            Await.until("one is ready", () -> dispatcher.pools().get(0).readyWorkers() == 1);
            assertThat(dispatcher.isReady()).isFalse();
            ScriptedWorker other = dial(second.token()).ready(1);
            Await.until("both are ready", dispatcher::isReady);
            other.close();
            assertThat(next(observer.partings).workerId()).isEqualTo(second.workerId());
            assertThat(dispatcher.isReady()).isTrue();
        }
        Await.until("no worker is left", () -> !dispatcher.isReady());
    }

    @Test
    void should_replace_the_secret_without_rejecting_a_worker() throws Exception {
        byte[] second = "another secret of at least sixteen bytes".getBytes(StandardCharsets.UTF_8);
        WorkerLauncher.LaunchRequest first = launches.next().request();

        dispatcher
                .change()
                .secret(second, SECRET)
                .function(FunctionOptions.builder("f")
                        .capacity(CapacityPolicy.fixed(2))
                        .build())
                .apply();

        WorkerLauncher.LaunchRequest other = launches.next().request();
        LaunchToken.verify(other.token(), function -> List.of(LaunchToken.key(second, function)), Instant.now());
        try (ScriptedWorker old = dial(first.token()).ready(1);
                ScriptedWorker young = dial(other.token()).ready(1)) {
            Await.until("the dispatcher knows", () -> dispatcher.pools().get(0).readyWorkers() == 2);
            dispatcher.change().secret(second).apply();
            expectRefusal(first.token(), 401);
            assertThat(dispatcher.pools().get(0).readyWorkers())
                    .as("connected workers stay")
                    .isEqualTo(2);
        }
    }

    @Test
    void should_count_only_workers_that_are_ready() throws Exception {
        try (ScriptedWorker worker = dial(launches.next().request().token()).ready(1)) {
            Await.until(
                    "the dispatcher knows",
                    () -> dispatcher.capacity().get(0).ready() == 1
                            && dispatcher.pools().get(0).readyWorkers() == 1);
            worker.say(new ControlMessage.Readiness(false));
            Await.until(
                    "the dispatcher knows",
                    () -> dispatcher.capacity().get(0).ready() == 0
                            && dispatcher.pools().get(0).readyWorkers() == 0);
            worker.say(new ControlMessage.Readiness(true));
            Await.until(
                    "the dispatcher knows",
                    () -> dispatcher.capacity().get(0).ready() == 1
                            && dispatcher.pools().get(0).readyWorkers() == 1);
        }
    }

    @Test
    void should_refuse_the_first_dial_in_with_an_expired_token() throws Exception {
        expectRefusal(expired(launches.next().request().workerId()), 401);
    }

    /** Such a worker costs money, but is neither counted nor drained nor replaced. */
    @Test
    void should_refuse_a_worker_whose_launch_has_been_given_up() throws Exception {
        RecordingLauncher.AbsentWorker launched = launches.next();
        WorkerLauncher.LaunchRequest request = launched.request();
        launched.exit().complete(new WorkerLauncher.WorkerExit(WorkerLauncher.Cause.FAILED, "no-show"));
        assertThat(next(observer.launchEnds).workerId()).isEqualTo(request.workerId());

        expectRefusal(request.token(), 403);
    }

    /** Its launcher cannot end the process, as on Lambda. */
    @Test
    void should_say_goodbye_to_a_worker_that_does_not_become_ready() throws Exception {
        RecordingLauncher unable = new RecordingLauncher(worker -> {}, worker -> {});
        Dispatcher impatient = Dispatcher.builder()
                .function(FunctionOptions.builder("f")
                        .capacity(CapacityPolicy.fixed(1))
                        .launching(LaunchLimits.builder()
                                .launchTimeout(Duration.ofSeconds(1))
                                .build())
                        .build())
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .secret(SECRET)
                .launcher(unable)
                .eventLoops(1)
                .observer(observer)
                .start();
        String token = unable.next().request().token();
        try (ScriptedWorker worker = new ScriptedWorker(loops, impatient.workerAddress(), token)) {
            worker.openControl();
            worker.hello(1, 1);
            worker.expect("1 :status 200");
            worker.expect("1 WELCOME");
            worker.expect("1 GOODBYE");
            worker.awaitClosed();
            assertThat(next(observer.partings).clean())
                    .as("it is not lost, because it was cut off")
                    .isTrue();
            assertThat(observer.incidents).noneMatch(incident -> incident.kind() == Incident.Kind.WORKERS_LOST);
            try (ScriptedWorker back = new ScriptedWorker(loops, impatient.workerAddress(), token)) {
                back.openControl();
                back.expect("1 :status 403");
            }
        } finally {
            impatient.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        }
    }

    @Test
    void should_say_that_a_launcher_uses_the_secret_instead_of_the_payload() throws Exception {
        RecordingLauncher forgetful = new RecordingLauncher();
        Dispatcher impatient = Dispatcher.builder()
                .function(FunctionOptions.builder("f")
                        .capacity(CapacityPolicy.fixed(1))
                        .launching(LaunchLimits.builder()
                                .launchTimeout(Duration.ofSeconds(2))
                                .build())
                        .build())
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .secret(SECRET)
                .launcher(forgetful)
                .eventLoops(1)
                .start();
        forgetful.next();
        String own = new LaunchToken("f", "self-1", Instant.now().plusSeconds(60)).sign(LaunchToken.key(SECRET, "f"));
        try (ScriptedWorker worker = new ScriptedWorker(loops, impatient.workerAddress(), own).ready(1)) {
            Await.until(
                    "the launch times out",
                    () -> String.valueOf(impatient.capacity().get(0).blockedReason())
                            .contains("not dialled in within 2 s. Connected workers that were not launched here: 1."
                                    + " If the launcher has started them, it must give a worker the token of its"
                                    + " LaunchRequest instead of the secret"));
        } finally {
            impatient.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        }
    }

    @Test
    void should_say_that_the_secret_is_random() throws Exception {
        RecordingObserver observed = new RecordingObserver();
        Dispatcher secretive = Dispatcher.builder()
                .function(FunctionOptions.builder("f")
                        .capacity(CapacityPolicy.between(0, 1))
                        .build())
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .launcher(new RecordingLauncher())
                .eventLoops(1)
                .observer(observed)
                .start();
        String token = new LaunchToken("f", "self-1", Instant.now().plusSeconds(60)).sign(LaunchToken.key(SECRET, "f"));
        try (ScriptedWorker worker = new ScriptedWorker(loops, secretive.workerAddress(), token)) {
            worker.openControl();
            worker.expect("1 :status 401");
            assertThat(next(observed.rejections)).endsWith(". No secret is set, so the dispatcher has a random one");
        } finally {
            secretive.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        }
        expectRefusal("v1.f.w.0.x", 401);
        assertThat(observer.rejections).noneMatch(reason -> reason.contains("random"));
    }

    @Test
    void should_refuse_a_worker_that_comes_back_after_its_end() throws Exception {
        RecordingLauncher.AbsentWorker launched = launches.next();
        WorkerLauncher.LaunchRequest request = launched.request();
        String id = request.workerId();
        ScriptedWorker worker = dial(request.token()).ready(1);
        launched.exit().complete(new WorkerLauncher.WorkerExit(WorkerLauncher.Cause.ENDED, "invoke returned"));
        assertThat(next(observer.launchEnds).workerId()).isEqualTo(id);
        worker.close();
        assertThat(next(observer.partings).workerId()).isEqualTo(id);

        expectRefusal(request.token(), 403);
        expectRefusal(expired(id), 401);
    }

    @Test
    void should_refuse_a_worker_that_comes_back_after_goodbye() throws Exception {
        WorkerLauncher.LaunchRequest request = launches.next().request();
        String id = request.workerId();
        ScriptedWorker worker = dial(request.token()).ready(1);
        worker.say(new ControlMessage.Goodbye("done"));
        // GOODBYE could be lost if the connection is closed before it is read.
        worker.awaitRead(5);
        worker.close();
        assertThat(next(observer.partings).workerId()).isEqualTo(id);

        expectRefusal(request.token(), 403);
        expectRefusal(expired(id), 401);
    }
}
