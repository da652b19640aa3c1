package io.lambdadispatcher.core.internal.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A dispatcher of a fleet, and workers that others use, too. */
@Timeout(60)
class SharedWorkerTest {
    private static final byte[] SECRET = "sixteen bytes at least".getBytes(StandardCharsets.UTF_8);

    private static final byte[] PREVIOUS_SECRET = "the previous secret".getBytes(StandardCharsets.UTF_8);

    private final ConcurrentMap<String, Ledger.Entry> entries = new ConcurrentHashMap<>();
    private final RecordingObserver observer = new RecordingObserver();
    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Dispatcher other = dispatcher(DispatcherObserver.NONE);
    private Dispatcher dispatcher;

    private Dispatcher dispatcher(DispatcherObserver reportsTo) {
        return builder(reportsTo).ledger(Ledger.inMemory(entries)).start();
    }

    private static DispatcherBuilder builder(DispatcherObserver reportsTo) {
        return Dispatcher.builder()
                .function(queue(Duration.ofSeconds(10)))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .secret(SECRET, PREVIOUS_SECRET)
                .eventLoops(1)
                .observer(reportsTo);
    }

    private static FunctionOptions queue(Duration longest) {
        return FunctionOptions.builder("f").queue(10, longest).build();
    }

    private static String text(Dispatcher of) {
        return "127.0.0.1:" + of.workerAddress().getPort();
    }

    /** Waits until both dispatchers know each other. */
    @BeforeEach
    void start() throws Exception {
        Await.until("the other dispatcher is known", () -> !entries.isEmpty());
        dispatcher = dispatcher(observer);
        try (ScriptedWorker early = new ScriptedWorker(loops, dispatcher.workerAddress(), "f", "early", SECRET)) {
            early.openControl();
            early.hello(2, 1);
            early.expect("1 :status 200");
            early.expect("1 WELCOME");
            early.expect("1 PEERS");
            assertThat(early.peers).containsExactly(text(dispatcher), text(other));
        }
    }

    @AfterEach
    void stop() throws Exception {
        for (Dispatcher each : List.of(dispatcher, other)) {
            each.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        }
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    private void awaitReady(int workers) {
        Await.until(workers + " are ready", () -> dispatcher.pools().get(0).readyWorkers() == workers);
    }

    private ScriptedWorker worker(String id, int streams) throws Exception {
        int ready = dispatcher.pools().get(0).readyWorkers();
        ScriptedWorker worker = new ScriptedWorker(loops, dispatcher.workerAddress(), "f", id, SECRET);
        worker.ready(2, streams, true);
        assertThat(worker.peers).containsExactly(text(dispatcher), text(other));
        awaitReady(ready + 1);
        return worker;
    }

    private static void busy(ScriptedWorker worker, int stream) throws Exception {
        worker.bytes(stream, out -> FrameWriter.writeReset(out, ErrorCode.BUSY, "busy"));
    }

    private void get(String path) {
        dispatcher.dispatch(DispatchRequest.get(path).build());
    }

    private void serve(ScriptedWorker worker, int stream) throws Exception {
        worker.respond(stream, new DefaultHttp2Headers().status("204"), true);
        ExchangeEnd end = observer.ends.poll(10, TimeUnit.SECONDS);
        assertThat(end).isNotNull();
        assertThat(end.status()).isEqualTo(204);
        assertThat(end.attempts()).isEqualTo(1);
    }

    private List<WorkerSnapshot> workers() {
        return dispatcher.workers().toCompletableFuture().join();
    }

    @Test
    void should_tell_a_connected_worker_of_a_new_dispatcher() throws Exception {
        try (ScriptedWorker worker = worker("w", 1)) {
            Dispatcher third = dispatcher(DispatcherObserver.NONE);
            worker.expect("1 PEERS");
            assertThat(worker.peers).hasSize(3).startsWith(text(dispatcher)).contains(text(third));
            third.close(Duration.ZERO).toCompletableFuture().join();
        }
    }

    /** While the secret is replaced, some dispatchers launch workers with the previous one. */
    @Test
    void should_accept_workers_with_any_of_its_secrets() throws Exception {
        try (ScriptedWorker worker = new ScriptedWorker(loops, dispatcher.workerAddress(), "f", "w", PREVIOUS_SECRET)) {
            worker.ready(2, 1, true);
            awaitReady(1);
        }
        byte[] unknown = "an unknown secret".getBytes(StandardCharsets.UTF_8);
        try (ScriptedWorker worker = new ScriptedWorker(loops, dispatcher.workerAddress(), "f", "u", unknown)) {
            worker.openControl();
            worker.expect("1 :status 401");
        }
    }

    @Test
    void should_not_send_peers_to_a_worker_of_version_1() throws Exception {
        try (ScriptedWorker old = new ScriptedWorker(loops, dispatcher.workerAddress(), "f", "old", SECRET)) {
            old.ready(1);
            awaitReady(1);
            get("/a");
            old.expect("3 REQUEST_HEAD /a end");
            serve(old, 3);
        }
    }

    @Test
    void should_ask_a_busy_worker_again_after_a_while_and_count_no_failure() throws Exception {
        try (ScriptedWorker worker = worker("w", 1)) {
            get("/a");
            worker.expect("3 REQUEST_HEAD /a end");
            long startNanos = System.nanoTime();
            for (int i = 0; i < 3; i++) {
                busy(worker, 3);
                worker.expect("3 REQUEST_HEAD /a end");
            }
            // 5 ms, 10 ms and 20 ms
            assertThat(Duration.ofNanos(System.nanoTime() - startNanos)).isGreaterThanOrEqualTo(Duration.ofMillis(35));
            serve(worker, 3);
            assertThat(workers().get(0).completed()).isEqualTo(1);
            assertThat(workers().get(0).failed()).isZero();
        }
    }

    @Test
    void should_ask_a_busy_worker_as_soon_as_it_has_room() throws Exception {
        try (ScriptedWorker worker = worker("w", 1)) {
            get("/a");
            worker.expect("3 REQUEST_HEAD /a end");
            for (int i = 0; i < 5; i++) {
                busy(worker, 3);
                worker.expect("3 REQUEST_HEAD /a end");
            }
            // The wait is 100 ms now. On a slow machine, a round can take longer for other reasons.
            long shortestNanos = Long.MAX_VALUE;
            for (int i = 0; i < 3; i++) {
                long startNanos = System.nanoTime();
                busy(worker, 3);
                worker.say(new ControlMessage.Readiness(true));
                worker.expect("3 REQUEST_HEAD /a end");
                shortestNanos = Math.min(shortestNanos, System.nanoTime() - startNanos);
            }
            assertThat(Duration.ofNanos(shortestNanos)).isLessThan(Duration.ofMillis(90));
            serve(worker, 3);
        }
    }

    @Test
    void should_send_one_request_each_time_a_worker_has_room() throws Exception {
        try (ScriptedWorker worker = worker("w", 2)) {
            get("/a");
            get("/b");
            worker.expect("5 REQUEST_HEAD /a end");
            worker.expect("3 REQUEST_HEAD /b end");
            // Until the wait is 100 ms.
            for (int i = 0; i < 5; i++) {
                busy(worker, 3);
                worker.expect("3 REQUEST_HEAD /b end");
            }
            long startNanos = System.nanoTime();
            busy(worker, 3);
            busy(worker, 5);
            worker.say(new ControlMessage.Readiness(true));
            worker.expect("5 REQUEST_HEAD /b end");
            worker.expect("3 REQUEST_HEAD /a end");
            assertThat(Duration.ofNanos(System.nanoTime() - startNanos))
                    .as("the other one is sent after the wait")
                    .isGreaterThan(Duration.ofMillis(80));
            serve(worker, 5);
            serve(worker, 3);
        }
    }

    @Test
    void should_ask_another_worker_at_once() throws Exception {
        try (ScriptedWorker first = worker("w1", 1)) {
            get("/a");
            first.expect("3 REQUEST_HEAD /a end");
            try (ScriptedWorker second = worker("w2", 1)) {
                busy(first, 3);
                second.expect("3 REQUEST_HEAD /a end");
                serve(second, 3);
            }
        }
    }

    @Test
    void should_send_another_request_when_one_of_its_own_has_ended() throws Exception {
        try (ScriptedWorker worker = worker("w", 2)) {
            get("/a");
            get("/b");
            worker.expect("5 REQUEST_HEAD /a end");
            worker.expect("3 REQUEST_HEAD /b end");
            // Until the wait is longer than the test.
            for (int i = 0; i < 5; i++) {
                busy(worker, 3);
                worker.expect("3 REQUEST_HEAD /b end");
            }
            busy(worker, 3);
            serve(worker, 5);
            worker.expect("5 REQUEST_HEAD /b end");
            serve(worker, 5);
        }
    }

    @Test
    void should_send_the_body_again() throws Exception {
        try (ScriptedWorker worker = worker("w", 1)) {
            dispatcher.dispatch(
                    DispatchRequest.post("/a").body(new byte[60_000]).build());
            for (int i = 0; i < 3; i++) {
                worker.expect("3 REQUEST_HEAD /a");
                assertThat(worker.body(3)).isEqualTo(60_000);
                if (i < 2) {
                    busy(worker, 3);
                }
            }
            serve(worker, 3);
        }
    }

    /** It serves a fleet, too, which this dispatcher does not know. */
    @Test
    void should_send_the_body_again_without_a_fleet_after_the_first_busy() throws Exception {
        RecordingObserver seen = new RecordingObserver();
        try (Dispatcher alone = builder(seen).start();
                ScriptedWorker worker = new ScriptedWorker(loops, alone.workerAddress(), "f", "w", SECRET)) {
            worker.ready(2, 1, false);
            Await.until("it is ready", () -> alone.pools().get(0).readyWorkers() == 1);
            for (int i = 0; i < 2; i++) {
                alone.dispatch(DispatchRequest.post("/a").body(new byte[60_000]).build());
                worker.expect("3 REQUEST_HEAD /a");
                assertThat(worker.body(3)).isEqualTo(60_000);
                busy(worker, 3);
                if (i > 0) {
                    worker.expect("3 REQUEST_HEAD /a");
                    assertThat(worker.body(3)).isEqualTo(60_000);
                    worker.respond(3, new DefaultHttp2Headers().status("204"), true);
                }
                ExchangeEnd end = seen.ends.poll(10, TimeUnit.SECONDS);
                assertThat(end).isNotNull();
                assertThat(end.failure()).isEqualTo(i == 0 ? "worker_lost" : null);
            }
        }
    }

    /** All that can be on its way with default windows: 512 + 256 + 64 KiB. */
    @Test
    void should_send_what_was_on_its_way_to_a_busy_worker_again() throws Exception {
        int length = (512 + 256 + 64) * 1024;
        try (ScriptedWorker worker = worker("w", 1)) {
            dispatcher.dispatch(
                    DispatchRequest.post("/a").body(new byte[length]).build());
            worker.expect("3 REQUEST_HEAD /a");
            assertThat(worker.body(3)).isEqualTo(length);
            busy(worker, 3);
            worker.expect("3 REQUEST_HEAD /a");
            assertThat(worker.body(3)).isEqualTo(length);
            serve(worker, 3);
        }
    }

    @Test
    void should_fail_if_too_much_of_the_body_was_sent() throws Exception {
        try (ScriptedWorker worker = worker("w", 1)) {
            dispatcher.dispatch(
                    DispatchRequest.post("/a").body(new byte[1_100_000]).build());
            worker.expect("3 REQUEST_HEAD /a");
            assertThat(worker.body(3)).isEqualTo(1_100_000);
            busy(worker, 3);
            ExchangeEnd end = observer.ends.poll(10, TimeUnit.SECONDS);
            assertThat(end).isNotNull();
            assertThat(end.failure()).isEqualTo("worker_lost");
            assertThat(workers().get(0).failed()).isZero();
        }
    }

    @Test
    void should_time_out_in_the_queue_if_all_workers_stay_busy() throws Exception {
        dispatcher.change().function(queue(Duration.ofMillis(500))).apply();
        try (ScriptedWorker worker = worker("w", 1)) {
            get("/a");
            ExchangeEnd end = null;
            while (end == null) {
                worker.expect("3 REQUEST_HEAD /a end");
                busy(worker, 3);
                end = observer.ends.poll(150, TimeUnit.MILLISECONDS);
            }
            assertThat(end.failure()).isEqualTo("queue_timeout");
            assertThat(Duration.ofNanos(end.totalNanos())).isGreaterThanOrEqualTo(Duration.ofMillis(500));
        }
    }

    /** The worker says goodbye to this dispatcher, but continues to serve others. */
    @Test
    void should_let_a_worker_return_that_has_only_left() throws Exception {
        try (ScriptedWorker worker = worker("w", 1)) {
            worker.say(new ControlMessage.Drain(DrainCode.LEAVING, 1000));
            awaitReady(0);
            worker.say(new ControlMessage.Goodbye("leaving"));
        }
        Await.until("it is forgotten", () -> workers().isEmpty());
        worker("w", 1).close();
    }
}
