package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.options.AttemptPolicy;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.RetryCondition;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.testkit.Alone;
import io.lambdadispatcher.wire.testkit.Await;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Clients that send 200 requests/s to worker processes of which some hang, die, are slow or answer
 * 500 or 503. {@code -Dtraffic.requests=60000} runs the published incident at its full length.
 */
@StartsPrograms
class TrafficIT {
    private static final int REQUESTS = Integer.getInteger("traffic.requests", 1_400);

    /** The requests that a worker serves at once. */
    private static final int STREAMS = 50;

    private static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private static final AttemptPolicy ATTEMPTS = AttemptPolicy.builder()
            .maxAttempts(4)
            .retryOn(EnumSet.allOf(RetryCondition.class))
            .perTryTimeout(Duration.ofMillis(500))
            .build();
    private static final TrafficPolicy RETRIED =
            TrafficPolicy.builder().attempts(ATTEMPTS).build();
    /** A fixed delay, because one worker of four serves more than 1 % of the requests. */
    private static final TrafficPolicy HEDGED = TrafficPolicy.builder()
            .attempts(AttemptPolicy.builder()
                    .maxAttempts(3)
                    .hedgeAfter(Duration.ofMillis(25))
                    .build())
            .build();

    private static final TrafficPolicy OVERLAPPING = TrafficPolicy.builder()
            .attempts(AttemptPolicy.builder()
                    .maxAttempts(4)
                    .hedgeAfter(Duration.ofMillis(500))
                    .build())
            .build();

    private final Counting observer = new Counting();

    private static final class Counting implements DispatcherObserver {
        final Map<String, AtomicInteger> extras = new ConcurrentHashMap<>();

        @Override
        public ExchangeListener onExchangeStart(ExchangeStart start) {
            return this::count;
        }

        private void count(ExchangeEnd end) {
            for (ExtraAttempt reason : ExtraAttempt.values()) {
                if (end.extraAttempts(reason) > 0) {
                    extras.computeIfAbsent(reason.token(), token -> new AtomicInteger())
                            .addAndGet(end.extraAttempts(reason));
                }
            }
            if (end.retryDenial() != null) {
                extras.computeIfAbsent("denied " + end.retryDenial().token(), token -> new AtomicInteger())
                        .incrementAndGet();
            }
        }

        int sum() {
            return extras.entrySet().stream()
                    .filter(each -> !each.getKey().startsWith("denied"))
                    .mapToInt(each -> each.getValue().get())
                    .sum();
        }
    }

    private Rig rig(TrafficPolicy policy) {
        FunctionOptions function = Rig.function()
                .traffic(policy)
                .workerTimeout(Duration.ofSeconds(10))
                .queue(1_000, Duration.ofSeconds(60))
                .build();
        return Rig.start(function, observer);
    }

    private static Map<String, String> kind(String kind) {
        return Map.of("LAMBDA_DISPATCHER_HANDLER", TrafficHandler.class.getName(), "IT_TRAFFIC", kind);
    }

    private static List<Process> workers(Rig rig, String... kinds) {
        List<Process> workers = new ArrayList<>();
        for (String kind : kinds) {
            workers.add(rig.process(2, STREAMS, kind(kind)));
        }
        return workers;
    }

    /** What clients saw. */
    static final class Seen {
        final Map<String, AtomicInteger> outcomes = new ConcurrentHashMap<>();
        final List<Long> nanos = Collections.synchronizedList(new ArrayList<>());

        double quantileMillis(double quantile) {
            long[] sorted = nanos.stream().mapToLong(Long::longValue).sorted().toArray();
            return sorted[(int) Math.ceil(quantile * sorted.length) - 1] / 1e6;
        }

        @Override
        public String toString() {
            return "outcomes " + outcomes + ", p50, p99, max: " + quantileMillis(0.5) + ", " + quantileMillis(0.99)
                    + ", " + quantileMillis(1) + " ms";
        }
    }

    /** Sends requests at a constant rate, whether or not earlier ones have been answered. */
    static Seen load(Rig rig, int requests) {
        return load(rig, requests, requests);
    }

    /**
     * Sends requests at a constant rate.
     *
     * @param mostOpen how many may wait for their answers
     */
    static Seen load(Rig rig, int requests, int mostOpen) {
        Semaphore open = new Semaphore(mostOpen);
        // Java's client fails requests beyond the streams of one HTTP/2 connection.
        HttpClient client = rig.client(HttpClient.Version.HTTP_1_1);
        HttpRequest request = HttpRequest.newBuilder(rig.http("/"))
                .timeout(Duration.ofSeconds(60))
                .build();
        Seen seen = new Seen();
        List<CompletableFuture<Void>> all = new ArrayList<>();
        long start = System.nanoTime();
        for (int i = 0; i < requests; i++) {
            long due = start + i * INTERVAL_NANOS;
            Await.nanoTime(due);
            open.acquireUninterruptibly();
            all.add(client.sendAsync(request, BodyHandlers.discarding()).handle((response, error) -> {
                open.release();
                seen.nanos.add(System.nanoTime() - due);
                String outcome = error == null ? Integer.toString(response.statusCode()) : error.toString();
                seen.outcomes
                        .computeIfAbsent(outcome, key -> new AtomicInteger())
                        .incrementAndGet();
                return null;
            }));
        }
        CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new)).join();
        return seen;
    }

    /** Sends requests one after the other, so as fast as they are answered. */
    static void oneByOne(Rig rig, int requests) throws Exception {
        HttpClient client = rig.client(HttpClient.Version.HTTP_1_1);
        HttpRequest request = HttpRequest.newBuilder(rig.http("/")).build();
        for (int i = 0; i < requests; i++) {
            assertThat(client.send(request, BodyHandlers.discarding()).statusCode())
                    .isEqualTo(200);
        }
    }

    /**
     * Asserts that requests of a dispatcher with a handicap take at most twice as long as those of
     * another one. Both get the same load at the same time, so other programs on the machine delay
     * both. They can still delay one more than the other, so the load is sent up to three times.
     */
    static void assertNoSlower(Rig unhindered, Rig handicapped, int requests) throws Exception {
        for (int attempt = 1; ; attempt++) {
            // Not on the common pool: its only thread also runs what follows a response.
            CompletableFuture<Seen> reference =
                    CompletableFuture.supplyAsync(() -> load(unhindered, requests), call -> new Thread(call).start());
            Seen seen = load(handicapped, requests);
            Seen normal = reference.get(10, TimeUnit.MINUTES);
            System.out.println("handicapped: " + seen + "; unhindered: " + normal);
            assertAll(normal, requests);
            assertAll(seen, requests);
            double bound = Math.max(2 * normal.quantileMillis(0.99), 50);
            if (attempt == 3 || seen.quantileMillis(0.99) < bound) {
                assertThat(seen.quantileMillis(0.99)).isLessThan(bound);
                return;
            }
        }
    }

    static void assertAll(Seen seen, int requests) {
        assertThat(seen.outcomes).as(seen.toString()).containsOnlyKeys("200");
        assertThat(seen.outcomes.get("200")).hasValue(requests);
    }

    private void report(String what, Seen seen) {
        System.out.println(what + ": " + seen + ", extra attempts " + observer.extras);
    }

    /**
     * Asserts that each request of each of up to three loads is answered, and that one of them
     * needs few extra attempts. A pause of the machine lets all requests of one load time out. A
     * fault of the dispatcher repeats too many in all.
     */
    private void assertFewExtras(String what, Callable<Seen> load) throws Exception {
        int most = Math.max(20, REQUESTS / 50);
        for (int i = 0; i == 0 || i < 3 && observer.sum() > most; i++) {
            observer.extras.clear();
            Seen seen = load.call();
            report(what, seen);
            assertAll(seen, REQUESTS);
        }
        assertThat(observer.sum()).as(observer.extras.toString()).isLessThanOrEqualTo(most);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_answer_every_request_of_the_published_incident(boolean overlapping) throws Exception {
        try (Rig rig = rig(overlapping ? OVERLAPPING : RETRIED)) {
            workers(rig, "hanging", "hanging", "hanging");
            assertFewExtras(overlapping ? "incident, overlapping" : "incident", () -> load(rig, REQUESTS));
        }
    }

    @Test
    void should_answer_every_request_while_workers_are_killed() throws Exception {
        try (Rig rig = rig(RETRIED)) {
            List<Process> alive = workers(rig, "hanging", "hanging", "hanging");
            assertFewExtras("kills", () -> loadAndKill(rig, alive));
        }
    }

    private static Seen loadAndKill(Rig rig, List<Process> alive) throws Exception {
        // Not on the common pool, whose only thread on two cores also runs what follows a response.
        CompletableFuture<Seen> load =
                CompletableFuture.supplyAsync(() -> load(rig, REQUESTS), call -> new Thread(call).start());
        long start = System.nanoTime();
        for (int seconds = 5; seconds * 200 < REQUESTS; seconds += 10) {
            Await.nanoTime(start + TimeUnit.SECONDS.toNanos(seconds));
            alive.remove(0).destroyForcibly();
            alive.add(rig.launch(2, STREAMS, kind("hanging")));
        }
        return load.get(10, TimeUnit.MINUTES);
    }

    @Test
    @Alone("compares latencies")
    void should_hide_a_worker_of_fifty_times_the_latency() throws Exception {
        try (Rig unhindered = rig(HEDGED);
                Rig handicapped = rig(HEDGED)) {
            workers(unhindered, "healthy", "healthy", "healthy", "healthy");
            workers(handicapped, "slow", "healthy", "healthy", "healthy");
            load(unhindered, 500);
            load(handicapped, 500);
            observer.extras.clear();
            assertNoSlower(unhindered, handicapped, REQUESTS);
            assertThat(observer.extras).containsKey("hedge");
        }
    }

    /** A third is the maximum that can be ejected. */
    @ParameterizedTest
    @CsvSource({"broken, 500", "overloaded, 503"})
    void should_hide_a_third_of_workers_that_answer_with_an_error(String kind, int status) throws Exception {
        TrafficPolicy policy = RETRIED;
        FunctionOptions function = Rig.function()
                .traffic(policy)
                .retryBudget(1)
                .workerTimeout(Duration.ofSeconds(10))
                .build();
        try (Rig rig = Rig.start(function, observer)) {
            workers(rig, "healthy", "healthy");
            workers(rig, kind);
            // While requests are queued, nothing is retried, and a slow machine may serve less than
            // the load: so no more are open than one worker serves at once.
            Seen seen = load(rig, REQUESTS, STREAMS);
            report("a third answers " + status, seen);
            assertAll(seen, REQUESTS);
        }
    }

    @Test
    void should_tell_handlers_how_long_their_client_waits() throws Exception {
        TrafficPolicy policy = TrafficPolicy.builder()
                .deadline(DeadlinePolicy.builder()
                        .limit(Duration.ofSeconds(8))
                        .header("grpc-timeout")
                        .header("x-timeout-ms")
                        .build())
                .build();
        try (Rig rig = rig(policy)) {
            workers(rig, "healthy");
            String[] told = get(rig, "/deadline", "x-timeout-ms", "5000").body().split(" ");
            assertThat(Long.parseLong(told[0])).isBetween(1L, 5_000L);
            assertThat(Long.parseLong(told[1])).isBetween(1L, 5_000L);
            assertThat(told[2]).isEqualTo("null");

            told = get(rig, "/deadline", "grpc-timeout", "1H").body().split(" ");
            assertThat(Long.parseLong(told[0])).isBetween(1L, 8_000L);
            assertThat(told[2]).matches("[0-9]{1,7}u");

            HttpResponse<String> late = get(rig, "/", "x-timeout-ms", "1");
            assertThat(late.statusCode()).isEqualTo(504);
            assertThat(late.body()).isEqualTo("no complete response within the deadline\n");

            HttpResponse<String> call = rig.client(HttpClient.Version.HTTP_2)
                    .send(
                            HttpRequest.newBuilder(rig.https("/"))
                                    .header("content-type", "application/grpc")
                                    .header("grpc-timeout", "1m")
                                    .POST(HttpRequest.BodyPublishers.noBody())
                                    .build(),
                            BodyHandlers.ofString());
            assertThat(call.statusCode()).isEqualTo(200);
            assertThat(call.headers().firstValue("grpc-status")).contains("4");
        }
    }

    private static HttpResponse<String> get(Rig rig, String path, String header, String value) throws Exception {
        return rig.client(HttpClient.Version.HTTP_1_1)
                .send(
                        HttpRequest.newBuilder(rig.http(path))
                                .header(header, value)
                                .build(),
                        BodyHandlers.ofString());
    }
}
