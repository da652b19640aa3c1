package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.spi.LaunchPayload;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.wire.testkit.Alone;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.worker.WorkerHere;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A function with two base workers and several launched ones. */
@Timeout(240)
class BaseAndBurstIT {
    private static final int CALM_PER_SECOND = 40;
    private static final int BURST_PER_SECOND = 200;
    /** A pause of 200 ms of this machine fills the smaller base. */
    private static final double LEAST_WITHOUT_BURST = 0.95;

    private static final int SECONDS = Integer.getInteger("burst.seconds", 4);

    private final Kinds kinds = new Kinds();

    /** Counts which kind of worker has served requests, by phase. */
    private static final class Kinds implements DispatcherObserver {
        private final Map<String, AtomicInteger> counts = new ConcurrentHashMap<>();
        private final Map<String, LongAdder> nanos = new ConcurrentHashMap<>();

        @Override
        public ExchangeListener onExchangeStart(ExchangeStart start) {
            return this::count;
        }

        private void count(ExchangeEnd end) {
            String phase = end.path().toString().replaceAll(".*phase=", "");
            counts.computeIfAbsent(phase + end.workerKind(), key -> new AtomicInteger())
                    .incrementAndGet();
            nanos.computeIfAbsent(phase, key -> new LongAdder()).add(end.totalNanos());
        }

        private int count(String phase, WorkerKind kind) {
            return counts.getOrDefault(phase + kind, new AtomicInteger()).get();
        }

        int count(String phase) {
            return count(phase, WorkerKind.BASE) + count(phase, WorkerKind.LAUNCHED);
        }

        double baseShare(String phase) {
            return (double) count(phase, WorkerKind.BASE) / count(phase);
        }

        /** Returns the mean number of requests in flight: more than 40 if the machine is slow. */
        double inFlight(String phase) {
            return nanos.get(phase).sum() / 1e9 / SECONDS;
        }
    }

    /** Launches workers in this JVM. */
    private static final class Launcher implements WorkerLauncher {
        @Override
        public LaunchedWorker launch(LaunchRequest request) {
            Map<String, String> variables = new HashMap<>(Rig.DEMO);
            variables.put("LAMBDA_DISPATCHER_PAYLOAD", LaunchPayload.json(request));
            CompletableFuture<WorkerHere> started = CompletableFuture.supplyAsync(() -> WorkerHere.start(variables));
            CompletableFuture<WorkerExit> exit = new CompletableFuture<>();
            return new LaunchedWorker() {
                @Override
                public CompletionStage<WorkerExit> exit() {
                    return exit;
                }

                @Override
                public void kill() {
                    started.thenAcceptAsync(worker -> {
                        worker.close();
                        exit.complete(new WorkerExit(Cause.ENDED, "killed"));
                    });
                }
            };
        }

        @Override
        public void close(Duration grace) {}
    }

    private Rig start(int streams) throws Exception {
        CapacityPolicy capacity = CapacityPolicy.builder()
                .workers(6, 6)
                .scaleDownDelay(Duration.ofHours(1))
                .build();
        Rig rig = Rig.start(
                Rig.function()
                        .streamsPerConnection(streams)
                        .capacity(capacity)
                        .queue(1_000, Duration.ofSeconds(60))
                        .build(),
                kinds,
                builder -> builder.launcher("demo", new Launcher()));
        rig.worker(2, streams);
        rig.worker(2, streams);
        Await.until("workers are launched", () -> ready(rig, true) >= 4 && ready(rig, false) == 2);
        return rig;
    }

    private static long ready(Rig rig, boolean launched) {
        return workers(rig).stream()
                .filter(each -> each.launched() == launched && each.state() == WorkerSnapshot.State.READY)
                .count();
    }

    private static List<WorkerSnapshot> workers(Rig rig) {
        try {
            return rig.dispatcher.workers().toCompletableFuture().get(10, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** Sends requests of 200 ms at a constant rate, and waits for the responses. */
    private void load(Rig rig, HttpClient client, String phase, int perSecond) {
        HttpRequest request = HttpRequest.newBuilder(rig.http("/delay?delay=200&phase=" + phase))
                .timeout(Duration.ofSeconds(60))
                .build();
        List<CompletableFuture<HttpResponse<String>>> responses = new ArrayList<>();
        long start = System.nanoTime();
        for (int i = 0; i < perSecond * SECONDS; i++) {
            Await.nanoTime(start + i * TimeUnit.SECONDS.toNanos(1) / perSecond);
            responses.add(client.sendAsync(request, BodyHandlers.ofString()));
        }
        assertThat(responses)
                .allSatisfy(response -> assertThat(response.join().statusCode()).isEqualTo(200));
        Await.until("all ends are reported", () -> kinds.count(phase) == responses.size());
    }

    /**
     * About 8 requests are in flight, then 40, then 8. Of the larger base, the target is more than
     * half of them.
     *
     * @param streams of each of the base's four connections
     * @param target of the base, in requests
     */
    @ParameterizedTest
    @CsvSource({"5, 16", "7, 24"})
    @Alone("counts requests that a short pause would send elsewhere")
    void should_use_launched_workers_only_for_what_exceeds_the_base(int streams, int target) throws Exception {
        try (Rig rig = start(streams)) {
            HttpClient client = rig.client(HttpClient.Version.HTTP_1_1);
            load(rig, client, "warm-up", CALM_PER_SECOND);
            load(rig, client, "before", CALM_PER_SECOND);
            load(rig, client, "burst", BURST_PER_SECOND);
            load(rig, client, "after", CALM_PER_SECOND);
            System.out.println("base of " + 4 * streams + " streams: " + kinds.baseShare("before") + ", in the burst "
                    + kinds.baseShare("burst") + " of " + kinds.inFlight("burst") + " in flight, after it "
                    + kinds.baseShare("after"));

            assertThat(kinds.baseShare("before")).isGreaterThanOrEqualTo(LEAST_WITHOUT_BURST);
            assertThat(kinds.baseShare("burst")).isGreaterThanOrEqualTo(0.9 * target / kinds.inFlight("burst"));
            assertThat(kinds.baseShare("after")).isGreaterThanOrEqualTo(LEAST_WITHOUT_BURST);
        }
    }
}
