package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Lifecycle;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.util.ResourceLeakDetector;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests a worker that several dispatchers share. They are members of one fleet in this JVM. */
@Timeout(240)
class PeersIT {
    private static final String SECRET = "a secret of the integration tests";
    private static final int CONNECTIONS = 2;
    private static final int STREAMS = 4;
    private static final Duration MAX_WAIT = Duration.ofSeconds(60);

    /** Counts concurrent requests, and answers each after a delay with the size of its body. */
    private static final class Counting implements Handler, Lifecycle {
        final AtomicInteger concurrent = new AtomicInteger();
        final AtomicInteger most = new AtomicInteger();
        volatile int delayMillis = 5;
        final Queue<DrainReason> drains = new ConcurrentLinkedQueue<>();

        @Override
        public void handle(Request request, Response response) {
            most.accumulateAndGet(concurrent.incrementAndGet(), Math::max);
            request.body()
                    .readAll(
                            1 << 20,
                            body -> request.eventLoop()
                                    .schedule(
                                            () -> {
                                                concurrent.decrementAndGet();
                                                response.respond(200, body.length + " bytes " + Arrays.hashCode(body));
                                            },
                                            delayMillis,
                                            TimeUnit.MILLISECONDS));
        }

        @Override
        public CompletionStage<Void> start() {
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public CompletionStage<?> onDrain(DrainReason reason, Duration grace) {
            drains.add(reason);
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public void stop() {}
    }

    /** Clients of one dispatcher, which send the next request as soon as they have a response. */
    private static final class Clients {
        final AtomicInteger served = new AtomicInteger();
        final Queue<String> failures = new ConcurrentLinkedQueue<>();
        private final Dispatcher dispatcher;
        private final CompletableFuture<?> ended;
        private boolean stopping;

        Clients(Dispatcher dispatcher, int count) {
            this.dispatcher = dispatcher;
            List<CompletableFuture<Void>> each = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                CompletableFuture<Void> done = new CompletableFuture<>();
                each.add(done);
                send(i, done);
            }
            ended = CompletableFuture.allOf(each.toArray(CompletableFuture[]::new));
        }

        /** Sends requests without a body, with a small one and with a large one. */
        private synchronized void send(int number, CompletableFuture<Void> done) {
            if (stopping) {
                done.complete(null);
                return;
            }
            byte[] body = new byte[new int[] {0, 100, 100_000}[number % 3]];
            Arrays.fill(body, (byte) number);
            DispatchRequest request = body.length == 0
                    ? DispatchRequest.get("/" + number).build()
                    : DispatchRequest.post("/" + number).body(body).build();
            dispatcher
                    .dispatch(request)
                    .thenCompose(response -> response.bodyAsString().thenApply(text -> response.status() + " " + text))
                    .whenCompleteAsync((answer, failure) -> {
                        if (failure != null) {
                            failures.add(failure.toString());
                        } else if (answer.equals("200 " + body.length + " bytes " + Arrays.hashCode(body))) {
                            served.incrementAndGet();
                        } else {
                            failures.add(answer);
                        }
                        send(number + 1, done);
                    });
        }

        /** No request is sent after it. */
        synchronized void sendNoMore() {
            stopping = true;
        }

        Clients stop() {
            sendNoMore();
            ended.orTimeout(MAX_WAIT.toSeconds(), TimeUnit.SECONDS).join();
            return this;
        }

        void awaitMore(int count) {
            int before = served.get();
            Await.until("the fleet is as expected", () -> served.get() >= before + count);
        }
    }

    private final ConcurrentMap<String, Ledger.Entry> entries = new ConcurrentHashMap<>();
    private final Map<Dispatcher, Clients> fleet = new LinkedHashMap<>();
    private final Counting handler = new Counting();
    private Worker worker;

    private Dispatcher dispatcher() {
        return Dispatcher.builder()
                .function(FunctionOptions.builder("f")
                        .connectionsPerWorker(CONNECTIONS)
                        .streamsPerConnection(STREAMS)
                        .queue(1000, Duration.ofSeconds(30))
                        .build())
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .secret(SECRET)
                .eventLoops(2)
                .ledger(Ledger.inMemory(entries))
                .start();
    }

    private static boolean isServed(Dispatcher dispatcher) {
        return dispatcher.pools().get(0).streams() == CONNECTIONS * STREAMS
                && dispatcher.pools().get(0).readyWorkers() == 1;
    }

    /** Starts three dispatchers, of which the worker knows one, and requests to all three. */
    @BeforeEach
    void start() {
        assertThat(ResourceLeakDetector.getLevel()).isEqualTo(ResourceLeakDetector.Level.PARANOID);
        List<Dispatcher> dispatchers = List.of(dispatcher(), dispatcher(), dispatcher());
        worker = new Worker(
                        WorkerConfig.of("f", SECRET, dispatchers.get(0).workerAddress()).toBuilder()
                                .plain()
                                .connections(CONNECTIONS)
                                .streams(STREAMS)
                                .build(),
                        handler)
                .start();
        dispatchers.forEach(each -> Await.until("the fleet is as expected", () -> isServed(each)));
        dispatchers.forEach(each -> fleet.put(each, new Clients(each, 3 * CONNECTIONS * STREAMS)));
    }

    @AfterEach
    void stop() {
        fleet.values().forEach(Clients::sendNoMore);
        worker.close();
        fleet.keySet()
                .forEach(each -> each.close(Duration.ZERO).toCompletableFuture().join());
    }

    private List<Clients> stopped() {
        List<Clients> all = List.copyOf(fleet.values());
        all.forEach(Clients::stop);
        return all;
    }

    @Test
    void should_serve_all_dispatchers_within_its_own_concurrency() {
        fleet.values().forEach(clients -> clients.awaitMore(300));
        for (Clients clients : stopped()) {
            assertThat(clients.failures).isEmpty();
        }
        assertThat(handler.most).hasValue(CONNECTIONS * STREAMS);
        Await.until(
                "the fleet is as expected",
                () -> worker.done().toCompletableFuture().isDone() || handler.concurrent.get() == 0);
        fleet.keySet().forEach(each -> {
            assertThat(each.pools().get(0).readyWorkers()).isEqualTo(1);
            assertThat(each.workers().toCompletableFuture().join().get(0).failed())
                    .isZero();
        });
    }

    /** All want more than the worker has room for, and 8 requests cannot be divided by three. */
    @Test
    void should_divide_a_full_worker_equally() throws Exception {
        handler.delayMillis = 100;
        fleet.values().forEach(clients -> clients.awaitMore(20));
        List<Integer> before =
                fleet.values().stream().map(clients -> clients.served.get()).toList();
        // Long enough for 20 requests in turn on each worker stream.
        fleet.values().iterator().next().awaitMore(60);
        int sum = 0;
        List<Integer> served = new ArrayList<>();
        for (Clients clients : fleet.values()) {
            served.add(clients.served.get() - before.get(served.size()));
            sum += served.get(served.size() - 1);
        }
        for (int each : served) {
            // Half of an equal part, as retries are random. SlotsPropertyTest has the bounds.
            assertThat(each).as("of %s", served).isGreaterThan(sum / 6);
        }
    }

    @Test
    void should_keep_serving_when_a_dispatcher_is_lost_and_dial_its_successor() {
        Dispatcher lost = List.copyOf(fleet.keySet()).get(1);
        Clients cutOff = fleet.remove(lost);
        lost.close(Duration.ZERO).toCompletableFuture().join();
        cutOff.stop();
        fleet.values().forEach(clients -> clients.awaitMore(100));

        Dispatcher next = dispatcher();
        long startNanos = System.nanoTime();
        Await.until("the fleet is as expected", () -> isServed(next));
        // A dispatcher of the fleet looks for others once a second.
        assertThat(Duration.ofNanos(System.nanoTime() - startNanos)).isLessThan(Duration.ofSeconds(10));
        fleet.put(next, new Clients(next, 8));
        fleet.values().forEach(clients -> clients.awaitMore(100));

        for (Clients clients : stopped()) {
            assertThat(clients.failures).isEmpty();
        }
        // The streams of the lost dispatcher end before the calls of the handler do.
        assertThat(handler.most.get()).isBetween(CONNECTIONS * STREAMS, 2 * CONNECTIONS * STREAMS);
        assertThat(handler.drains).isEmpty();
        assertThat(worker.done().toCompletableFuture()).isNotDone();
    }

    @Test
    void should_lose_nothing_when_a_dispatcher_shuts_down() {
        fleet.values().forEach(clients -> clients.awaitMore(100));
        Dispatcher leaving = List.copyOf(fleet.keySet()).get(0);
        Clients last = fleet.remove(leaving);
        last.sendNoMore();
        leaving.close(Duration.ofSeconds(30)).toCompletableFuture().join();
        assertThat(last.stop().failures).isEmpty();

        fleet.values().forEach(clients -> clients.awaitMore(100));
        for (Clients clients : stopped()) {
            assertThat(clients.failures).isEmpty();
        }
        assertThat(handler.drains).isEmpty();
        assertThat(worker.done().toCompletableFuture()).isNotDone();
    }

    @Test
    void should_drain_on_all_dispatchers() {
        fleet.values().forEach(clients -> clients.awaitMore(50));
        stopped();
        handler.delayMillis = 300;
        List<CompletableFuture<String>> inFlight = new ArrayList<>();
        fleet.keySet()
                .forEach(each -> inFlight.add(
                        each.dispatch(DispatchRequest.post("/").body("abc").build())
                                .thenCompose(DispatchResponse::bodyAsString)
                                .toCompletableFuture()));
        Await.until("the fleet is as expected", () -> handler.concurrent.get() == inFlight.size());
        worker.drain(DrainReason.REQUESTED);
        fleet.keySet()
                .forEach(each -> Await.until(
                        "the fleet is as expected", () -> each.pools().get(0).workers() == 0));
        inFlight.forEach(
                each -> assertThat(each.orTimeout(10, TimeUnit.SECONDS).join()).startsWith("3 bytes"));
        assertThat(worker.done().toCompletableFuture().join().reason()).isEqualTo("requested");
        assertThat(handler.drains).containsExactly(DrainReason.REQUESTED);
    }
}
