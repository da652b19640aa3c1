package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.cache.CachePolicy;
import io.lambdadispatcher.cache.HttpCache;
import io.lambdadispatcher.core.observe.BreakerState;
import io.lambdadispatcher.core.options.BreakerPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.core.testkit.RecordingObserver.BreakerChange;
import io.lambdadispatcher.micrometer.DispatcherMetrics;
import io.lambdadispatcher.wire.testkit.Alone;
import io.lambdadispatcher.wire.testkit.Await;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The dependency of all handlers dies and returns, under a load of 200 requests/s. Every fifth
 * request is for a response that can be stored.
 */
@Timeout(240)
class BreakerIT {
    private static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final int SECONDS = 16;
    private static final int DEAD_FROM = 2;
    private static final int DEAD_UNTIL = 5;

    private static final TrafficPolicy POLICY = TrafficPolicy.builder()
            .breaker(BreakerPolicy.builder("default")
                    .errors(0.5)
                    .latency(Duration.ofMillis(400))
                    .open(Duration.ofSeconds(1))
                    .build())
            .extension(CachePolicy.class, CachePolicy.builder("it").build())
            .build();

    private record Answer(boolean stored, double sentSeconds, double millis, String outcome) {}

    private final RecordingObserver observer = new RecordingObserver();
    private final Queue<Answer> answers = new ConcurrentLinkedQueue<>();

    /** Returns how many exchanges ended in the same way. */
    private Map<String, Long> reported() {
        return observer.ends.stream()
                .collect(Collectors.groupingBy(
                        end -> end.status() + " " + end.failure() + " " + end.substitute(),
                        TreeMap::new,
                        Collectors.counting()));
    }

    @Alone("judges latencies")
    @Test
    void should_refuse_immediately_or_answer_stale_while_all_handlers_hang_and_return_to_them(@TempDir Path directory)
            throws Exception {
        FunctionOptions function = Rig.function()
                .traffic(POLICY)
                .workerTimeout(Duration.ofSeconds(3))
                .build();
        Path dead = directory.resolve("dead");
        Map<String, String> variables =
                Map.of("LAMBDA_DISPATCHER_HANDLER", SwitchedHandler.class.getName(), "IT_SWITCH", dead.toString());
        try (Rig rig =
                Rig.start(function, observer, builder -> builder.eventLoops(2).filter(new HttpCache(1 << 20)))) {
            rig.process(2, 50, variables);
            rig.process(2, 50, variables);
            long[] switched = new long[2];
            load(rig, dead, switched);

            List<BreakerChange> all = List.copyOf(observer.breakerChanges);
            all.forEach(each -> System.out.printf(
                    "%.2f s after the death: %s, %s%n",
                    (each.nanos() - switched[0]) / 1e9, each.state(), each.reason()));
            System.out.println(reported());
            double openedMillis = (all.get(0).nanos() - switched[0]) / 1e6;
            assertThat(all.get(0).state()).isEqualTo(BreakerState.OPEN);
            assertThat(openedMillis).isBetween(400.0, 1_000.0);
            List<BreakerChange> openings = all.stream()
                    .filter(each -> each.state() == BreakerState.OPEN)
                    .toList();
            assertThat(openings).hasSizeBetween(2, 5);
            // It stays closed after the dependency has returned. A machine that stalls for as long
            // as the latency of the policy looks like a dead dependency once more.
            assertThat(openings.stream().filter(each -> each.nanos() > switched[1]))
                    .hasSizeLessThan(2);
            assertThat(all.get(all.size() - 1).state()).isEqualTo(BreakerState.CLOSED);
        }
        Map<String, Integer> outcomes = new ConcurrentSkipListMap<>();
        answers.stream().filter(each -> !each.stored).forEach(each -> outcomes.merge(each.outcome, 1, Integer::sum));
        System.out.println(outcomes);
        assertThat(outcomes).containsOnlyKeys("200", "503", "504");
        assertThat(answers.stream().filter(Answer::stored)).allMatch(each -> each.outcome.startsWith("200"));
        assertThat(answers).hasSize((int) (SECONDS * TimeUnit.SECONDS.toNanos(1) / INTERVAL_NANOS));
        assertThat(answers.stream().filter(each -> each.sentSeconds >= SECONDS - 2))
                .allMatch(each -> each.outcome.equals("200"));
        // While the breaker is open, the answer comes immediately.
        List<Answer> early = answers.stream()
                .filter(each -> each.sentSeconds > DEAD_FROM + 1.1 && each.sentSeconds < DEAD_FROM + 1.4)
                .toList();
        assertThat(early)
                .anyMatch(each -> each.stored)
                .anyMatch(each -> !each.stored)
                .allMatch(each -> each.outcome.equals(each.stored ? "200 stale" : "503") && each.millis < 400);
    }

    /** The response arrives before the body. The connection stays usable. */
    @ParameterizedTest
    @EnumSource(HttpClient.Version.class)
    void should_answer_requests_with_bodies_while_the_breaker_is_open(HttpClient.Version version) throws Exception {
        FunctionOptions function = Rig.function().traffic(POLICY).build();
        Map<String, String> variables =
                Map.of("LAMBDA_DISPATCHER_HANDLER", TrafficHandler.class.getName(), "IT_TRAFFIC", "broken");
        PrometheusMeterRegistry metrics = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        try (Rig rig = Rig.start(function, observer, builder -> builder.observer(new DispatcherMetrics(metrics)))) {
            rig.process(1, 50, variables);
            HttpClient client = rig.client(version);
            URI target = version == HttpClient.Version.HTTP_2 ? rig.https("/") : rig.http("/");
            for (int i = 0; i < 40; i++) {
                HttpRequest request = HttpRequest.newBuilder(target)
                        .timeout(Duration.ofSeconds(30))
                        .POST(HttpRequest.BodyPublishers.ofByteArray(new byte[i * 1_000]))
                        .build();
                HttpResponse<String> response = client.send(request, BodyHandlers.ofString());
                assertThat(response.statusCode()).isEqualTo(i < 20 ? 500 : 503);
            }
            assertThat(observer.breakerChanges.element().state()).isEqualTo(BreakerState.OPEN);
            assertThat(rig.dispatcher.breakers()).singleElement().satisfies(seen -> {
                assertThat(seen.function()).isEqualTo("demo");
                assertThat(seen.state()).isNotEqualTo(BreakerState.CLOSED);
                assertThat(seen.reason()).isNotEmpty();
            });
            assertThat(reported()).containsKeys("500 null null", "503 breaker_open null");
            assertThat(metrics.scrape())
                    .containsPattern("lambda_dispatcher_breaker_passing_ratio\\{.*function=\"demo\".*} 0\\.");
        }
    }

    private void load(Rig rig, Path dead, long[] switched) throws Exception {
        HttpClient client = rig.client(HttpClient.Version.HTTP_1_1);
        HttpRequest ordinary = get(rig.http("/"));
        HttpRequest storable = get(rig.http("/stored"));
        for (int i = 0; i < 50; i++) {
            client.send(ordinary, BodyHandlers.discarding());
        }
        List<CompletableFuture<Void>> all = new ArrayList<>();
        long start = System.nanoTime();
        for (int i = 0; i * INTERVAL_NANOS < TimeUnit.SECONDS.toNanos(SECONDS); i++) {
            long due = start + i * INTERVAL_NANOS;
            Await.nanoTime(due);
            double seconds = (due - start) / 1e9;
            if (switched[0] == 0 && seconds >= DEAD_FROM) {
                Files.createFile(dead);
                switched[0] = System.nanoTime();
            }
            if (switched[1] == 0 && seconds >= DEAD_UNTIL) {
                Files.delete(dead);
                switched[1] = System.nanoTime();
            }
            boolean stored = i % 5 == 0;
            all.add(client.sendAsync(stored ? storable : ordinary, BodyHandlers.ofString())
                    .handle((response, error) -> {
                        answers.add(
                                new Answer(stored, seconds, (System.nanoTime() - due) / 1e6, outcome(response, error)));
                        return null;
                    }));
        }
        CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new)).join();
    }

    private static HttpRequest get(URI uri) {
        return HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(30)).build();
    }

    private static String outcome(HttpResponse<String> response, Throwable error) {
        if (error != null) {
            return error.toString();
        }
        boolean whole = response.statusCode() != 200 || response.body().equals("fine");
        boolean stale = response.headers().firstValue("cache-status").orElse("").contains("hit; ttl=-");
        return response.statusCode() + (stale ? " stale" : "") + (whole ? "" : " with another body");
    }
}
