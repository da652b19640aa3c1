package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.RateLimit;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.config.WorkerConfig;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Limits of rate and concurrency, with real clients and several event loops. */
@Timeout(240)
class AdmissionIT {
    private static final int LOOPS = 3;
    private static final int STREAMS = 16;

    private final RecordingObserver observer = new RecordingObserver();

    private Rig rig(AdmissionPolicy policy) {
        return Rig.start(
                FunctionOptions.builder("demo")
                        .streamsPerConnection(STREAMS)
                        .traffic(TrafficPolicy.builder().admission(policy).build())
                        .build(),
                observer,
                builder -> builder.eventLoops(LOOPS));
    }

    private List<String> failures() {
        return observer.ends.stream()
                .map(ExchangeEnd::failure)
                .filter(Objects::nonNull)
                .toList();
    }

    /** A worker whose {@code /hang} never answers. */
    private static Worker worker(Rig rig) {
        WorkerConfig config = WorkerConfig.of("demo", Rig.SECRET, rig.dispatcher.workerAddress()).toBuilder()
                .plain()
                .streams(STREAMS)
                .build();
        Worker worker = new Worker(config, (request, response) -> {
                    if (!request.path().equals("/hang")) {
                        response.respond(200, "served");
                    }
                })
                .start();
        Await.until("streams are free", () -> rig.pool().free() == STREAMS);
        return worker;
    }

    private static CompletableFuture<HttpResponse<String>> send(
            HttpClient client, Rig rig, String path, String... headers) {
        HttpRequest.Builder request =
                HttpRequest.newBuilder(client.version() == Version.HTTP_2 ? rig.https(path) : rig.http(path));
        if (headers.length > 0) {
            request.headers(headers);
        }
        return client.sendAsync(request.build(), BodyHandlers.ofString());
    }

    /** Connections of one client are spread over the event loops. */
    @Test
    void should_admit_exactly_the_burst_over_all_event_loops() throws Exception {
        AdmissionPolicy policy = AdmissionPolicy.builder("default")
                .rateLimit(RateLimit.of(50, Duration.ofDays(1)))
                .build();
        try (Rig rig = rig(policy);
                Worker worker = worker(rig)) {
            List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                HttpClient connection = rig.client(Version.HTTP_1_1);
                for (int j = 0; j < 10; j++) {
                    answers.add(send(connection, rig, "/"));
                }
            }
            int served = 0;
            for (CompletableFuture<HttpResponse<String>> answer : answers) {
                int status = answer.get(60, TimeUnit.SECONDS).statusCode();
                assertThat(status).isIn(200, 429);
                served += status == 200 ? 1 : 0;
            }
            assertThat(served).isEqualTo(50);
            assertThat(failures()).hasSize(150).containsOnly("rate_limited");
            assertThat(worker.done().toCompletableFuture()).isNotDone();
        }
    }

    @ParameterizedTest
    @EnumSource(Version.class)
    void should_say_when_the_next_request_is_possible(Version version) throws Exception {
        AdmissionPolicy policy = AdmissionPolicy.builder("search")
                .rateLimit(RateLimit.of(2, Duration.ofHours(1)).perHeader("X-Api-Key"))
                .build();
        try (Rig rig = rig(policy);
                Worker worker = worker(rig)) {
            HttpClient client = rig.client(version);
            for (int i = 0; i < 2; i++) {
                assertThat(send(client, rig, "/", "x-api-key", "a").get().statusCode())
                        .isEqualTo(200);
            }
            HttpResponse<String> refused =
                    send(client, rig, "/", "x-api-key", "a").get();
            assertThat(refused.statusCode()).isEqualTo(429);
            int seconds =
                    Integer.parseInt(refused.headers().firstValue("retry-after").orElseThrow());
            assertThat(seconds).isBetween(1700, 1800);
            assertThat(refused.headers().firstValue("ratelimit-policy")).contains("\"search\";q=2;w=3600");
            assertThat(refused.headers().firstValue("ratelimit")).contains("\"search\";r=0;t=" + seconds);
            assertThat(refused.body()).isEqualTo("the rate limit is used up\n");
            assertThat(send(client, rig, "/", "x-api-key", "b").get().statusCode())
                    .isEqualTo(200);
            assertThat(worker.done().toCompletableFuture()).isNotDone();
        }
    }

    /** Without its limit, the tenant would occupy all worker streams. */
    @Test
    void should_serve_others_while_a_tenant_hangs_all_its_requests() throws Exception {
        AdmissionPolicy policy =
                AdmissionPolicy.builder("default").tenants("x-tenant", 12).build();
        try (Rig rig = rig(policy);
                Worker worker = worker(rig)) {
            HttpClient hanging = rig.client(Version.HTTP_1_1);
            List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                answers.add(send(hanging, rig, "/hang", "x-tenant", "a"));
            }
            Await.until("all but twelve are refused", () -> failures().size() == 28);
            assertThat(failures()).containsOnly("tenant_limited");
            assertThat(rig.pool().free()).isEqualTo(STREAMS - 12);

            HttpClient other = rig.client(Version.HTTP_1_1);
            for (int i = 0; i < 50; i++) {
                HttpResponse<String> answer =
                        send(other, rig, "/", "x-tenant", "b").get(10, TimeUnit.SECONDS);
                assertThat(answer.statusCode()).isEqualTo(200);
            }
            HttpResponse<String> refused =
                    send(other, rig, "/", "x-tenant", "a").get(10, TimeUnit.SECONDS);
            assertThat(refused.statusCode()).isEqualTo(429);
            assertThat(refused.headers().firstValue("retry-after")).contains("1");

            answers.stream().filter(each -> !each.isDone()).forEach(each -> each.cancel(true));
            rig.awaitAllFree();
            assertThat(send(other, rig, "/", "x-tenant", "a")
                            .get(10, TimeUnit.SECONDS)
                            .statusCode())
                    .isEqualTo(200);
            assertThat(worker.done().toCompletableFuture()).isNotDone();
        }
    }

    @Test
    void should_limit_the_requests_in_flight() throws Exception {
        AdmissionPolicy policy =
                AdmissionPolicy.builder("default").maxConcurrentRequests(3).build();
        try (Rig rig = rig(policy);
                Worker worker = worker(rig)) {
            HttpClient client = rig.client(Version.HTTP_1_1);
            List<CompletableFuture<HttpResponse<String>>> hanging = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                hanging.add(send(client, rig, "/hang"));
            }
            Await.until("three are in flight", () -> rig.pool().free() == STREAMS - 3);
            assertThat(send(client, rig, "/").get(10, TimeUnit.SECONDS).statusCode())
                    .isEqualTo(503);
            assertThat(failures()).containsExactly("bulkhead_full");

            hanging.remove(0).cancel(true);
            Await.until("one has ended", () -> rig.pool().free() == STREAMS - 2);
            assertThat(send(client, rig, "/").get(10, TimeUnit.SECONDS).statusCode())
                    .isEqualTo(200);
            assertThat(worker.done().toCompletableFuture()).isNotDone();
            hanging.forEach(each -> each.cancel(true)); // The worker does not wait for them.
        }
    }

    @Test
    void should_obey_a_limit_that_a_reload_changes(@TempDir Path directory) throws Exception {
        Path settings = directory.resolve("dispatcher.yaml");
        write(settings, "function.rate-limit: 3/d");
        try (ServedProgram program = ServedProgram.start(Map.of("CONFIG", settings.toString()))) {
            for (int i = 0; i < 3; i++) {
                assertThat(program.get("/ping").get().statusCode()).isEqualTo(200);
            }
            assertThat(program.get("/ping").get().statusCode()).isEqualTo(429);

            // A token in each second, and a bucket as empty as before.
            write(settings, "function.rate-limit: 86400/d");
            Await.until("a token", () -> program.get("/ping").get().statusCode() == 200);

            write(settings, "");
            Await.until("no limit", () -> {
                for (int i = 0; i < 10; i++) {
                    if (program.get("/ping").get().statusCode() != 200) {
                        return false;
                    }
                }
                return true;
            });
        }
    }

    private static void write(Path file, String text) throws Exception {
        Path next = Files.writeString(file.resolveSibling("next"), text + "\n");
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }
}
