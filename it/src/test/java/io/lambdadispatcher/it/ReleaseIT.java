package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.CanarySnapshot;
import io.lambdadispatcher.core.observe.CanarySnapshot.State;
import io.lambdadispatcher.core.observe.ShadowEnd;
import io.lambdadispatcher.core.observe.ShadowEnd.Result;
import io.lambdadispatcher.core.options.CanaryPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ShadowPolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.it.TrafficIT.Seen;
import io.lambdadispatcher.server.demo.DemoHandler;
import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.testkit.Alone;
import io.lambdadispatcher.wire.testkit.Await;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Canaries and shadow traffic with worker processes, and clients that send 200 requests/s. */
@Timeout(300)
class ReleaseIT {
    private static final CanaryPolicy CANARY = new CanaryPolicy("next", List.of(10, 50, 100), Duration.ofSeconds(2));

    private static final String TOKEN = "0123456789abcdef";

    private final RecordingObserver observer = new RecordingObserver();

    private Map<Result, Long> shadows() {
        return observer.shadowEnds.stream().collect(Collectors.groupingBy(ShadowEnd::result, Collectors.counting()));
    }

    /** Starts the function {@code demo} with healthy workers, and one worker of {@code next}. */
    private Rig rig(TrafficPolicy policy, Map<String, String> handler, Map<String, String> nextHandler) {
        FunctionOptions next = FunctionOptions.builder("next")
                .connectionsPerWorker(2)
                .streamsPerConnection(100)
                .requestTimeout(Duration.ofSeconds(5))
                .build();
        Rig rig = Rig.start(Rig.function().traffic(policy).build(), observer, builder -> builder.function(next));
        rig.process(2, 50, handler);
        Map<String, String> variables = new HashMap<>(nextHandler);
        variables.put("LAMBDA_DISPATCHER_FUNCTION", "next");
        rig.launch(2, 50, variables);
        Await.until(
                "the other function has a worker",
                () -> rig.dispatcher.pools().get(1).free() == 100);
        return rig;
    }

    private static Map<String, String> kind(String kind) {
        return Map.of("LAMBDA_DISPATCHER_HANDLER", TrafficHandler.class.getName(), "IT_TRAFFIC", kind);
    }

    private static CanarySnapshot canary(Rig rig) {
        return rig.dispatcher.canaries().get(0);
    }

    private static void assertAll(Seen seen, int requests) {
        assertThat(seen.outcomes).as(seen.toString()).containsOnlyKeys("200");
        assertThat(seen.outcomes.get("200")).hasValue(requests);
    }

    @Test
    void should_give_a_good_canary_all_requests() throws Exception {
        TrafficPolicy policy = TrafficPolicy.builder().canary(CANARY).build();
        // A canary may be twice as slow. If responses take 5 ms, compilation can exceed that.
        try (Rig rig = rig(policy, kind("slow"), kind("slow"))) {
            Seen seen = TrafficIT.load(rig, 3_000);
            System.out.println("good canary: " + seen + ", " + canary(rig));
            assertAll(seen, 3_000);
            assertThat(canary(rig).state()).isEqualTo(State.COMPLETE);
            assertThat(canary(rig).share()).isEqualTo(100);
        }
    }

    @Test
    void should_take_the_requests_from_a_canary_that_fails() throws Exception {
        TrafficPolicy policy = TrafficPolicy.builder().canary(CANARY).build();
        try (Rig rig = rig(policy, kind("healthy"), kind("failing"))) {
            Seen seen = TrafficIT.load(rig, 2_000);
            System.out.println("failing canary: " + seen + ", " + canary(rig));
            assertThat(canary(rig).state()).isEqualTo(State.STOPPED);
            assertThat(canary(rig).reason()).contains("% of the requests to canary next failed, ");
            assertThat(canary(rig).requests()).isLessThan(150);
            assertThat(seen.outcomes).containsOnlyKeys("200", "500");
            assertThat(seen.outcomes.get("500").get()).isBetween(1, 50).isEqualTo((int)
                    canary(rig).failures());
            assertAll(TrafficIT.load(rig, 400), 400);

            rig.dispatcher.resumeRollout("demo");
            assertThat(canary(rig).share()).isEqualTo(10);
            rig.dispatcher.stopRollout("demo");
            assertThat(canary(rig).reason()).isEqualTo("an operator has stopped it");
        }
    }

    @Test
    @Alone("compares latencies")
    void should_not_delay_requests_while_their_copies_hang() throws Exception {
        double alone;
        try (Rig rig = rig(TrafficPolicy.NEUTRAL, kind("healthy"), kind("silent"))) {
            TrafficIT.load(rig, 500);
            Seen seen = TrafficIT.load(rig, 1_000);
            System.out.println("without copies: " + seen);
            alone = seen.quantileMillis(0.99);
        }
        TrafficPolicy policy = TrafficPolicy.builder()
                .shadow(ShadowPolicy.builder("next").share(1).build())
                .build();
        try (Rig rig = rig(policy, kind("healthy"), kind("silent"))) {
            TrafficIT.load(rig, 500);
            double bound = Math.max(2 * alone, 50);
            Supplier<Seen> load = () -> {
                Seen seen = TrafficIT.load(rig, 1_000);
                System.out.println("with copies that hang: " + seen + ", " + shadows());
                assertAll(seen, 1_000);
                return seen;
            };
            assertThat(TrafficIT.lowestP99Millis(load, bound)).isLessThan(bound);
            assertThat(shadows()).containsKeys(Result.SKIPPED, Result.FAILED);
            Await.until("no copy is left", () -> rig.dispatcher.pools().get(1).free() == 100);
        }
    }

    @Test
    void should_compare_copies_with_their_requests() throws Exception {
        TrafficPolicy policy = TrafficPolicy.builder()
                .shadow(ShadowPolicy.builder("next").share(1).build())
                .build();
        try (Rig rig = rig(policy, kind("healthy"), kind("broken"))) {
            assertAll(TrafficIT.load(rig, 400), 400);
            Await.until("copies have ended", () -> shadows().getOrDefault(Result.DIFFERENT, 0L) == 400);
        }
    }

    @Test
    void should_deliver_whole_bodies_while_their_copies_lag() throws Exception {
        TrafficPolicy policy = TrafficPolicy.builder()
                .shadow(ShadowPolicy.builder("next")
                        .share(1)
                        .allMethods(true)
                        .bufferBytes(64 * 1024)
                        .build())
                .build();
        try (Rig rig = rig(policy, Rig.DEMO, kind("silent"))) {
            byte[] body = new byte[8 << 20];
            for (HttpClient.Version version : HttpClient.Version.values()) {
                HttpRequest request = HttpRequest.newBuilder(
                                version == HttpClient.Version.HTTP_2 ? rig.https("/echo") : rig.http("/echo"))
                        .POST(BodyPublishers.ofByteArray(body))
                        .build();
                HttpClient client = rig.client(version);
                for (int i = 0; i < 10; i++) {
                    HttpResponse<byte[]> response = client.send(request, BodyHandlers.ofByteArray());
                    assertThat(response.statusCode()).isEqualTo(200);
                    assertThat(response.body()).isEqualTo(body);
                }
            }
            assertThat(shadows()).containsEntry(Result.LAGGED, 20L);
            rig.awaitAllFree();
        }
    }

    /** The command {@code serve}, whose canary answers with 500. */
    private static final class Served implements AutoCloseable {
        final int publicPort = FreePort.next();
        final int adminPort = FreePort.next();
        private final HttpClient client = HttpClient.newHttpClient();
        private final Path file;
        private final Process process;

        Served(Path directory) throws Exception {
            file = directory.resolve("dispatcher.yaml");
            write("canary: next, canary-steps: [50, 100], ");
            process = ServedProgram.command("serve", "--config", file.toString())
                    .redirectErrorStream(true)
                    .redirectOutput(directory.resolve("log").toFile())
                    .start();
            Await.until("ready", () -> status(adminPort, "/ready") == 200);
        }

        void write(String canary) throws Exception {
            String function =
                    "- {name: %s, weight: %d, %slauncher: local, min-workers: 1, max-workers: 1, handler: %s}";
            Path next = Files.writeString(
                    file.resolveSibling("next"),
                    String.join(
                            "\n",
                            "public.plain: {host: 127.0.0.1, port: " + publicPort + "}",
                            "workers: {host: 127.0.0.1, port: 0, ping-timeout: 30s}",
                            "shutdown.delay: 0",
                            "state.file: " + file.resolveSibling("state.json"),
                            "admin: {port: " + adminPort + ", token: " + TOKEN + "}",
                            "functions:",
                            String.format(function, "shop", 100, canary, DemoHandler.class.getName()),
                            String.format(function, "next", 0, "", FailingHandler.class.getName())));
            Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        }

        private HttpResponse<String> send(String method, int port, String path) throws Exception {
            return client.send(
                    HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                            .header("authorization", "Bearer " + TOKEN)
                            .method(method, BodyPublishers.noBody())
                            .build(),
                    BodyHandlers.ofString());
        }

        int status(int port, String path) {
            try {
                return send("GET", port, path).statusCode();
            } catch (Exception e) {
                return 0;
            }
        }

        Map<Integer, Integer> pings(int count) {
            Map<Integer, Integer> statuses = new HashMap<>();
            for (int i = 0; i < count; i++) {
                statuses.merge(status(publicPort, "/ping"), 1, Integer::sum);
            }
            return statuses;
        }

        HttpResponse<String> command(String to) throws Exception {
            return send("POST", adminPort, "/api/rollout?to=" + to + "&function=shop");
        }

        /** Returns the canary in {@code /api/functions}, whose description is checked. */
        Map<?, ?> canary() {
            try {
                HttpResponse<String> answer = send("GET", adminPort, "/api/functions");
                assertThat(new AdminApiDescription()
                                .check("get", "/api/functions", 200, "application/json", answer.body()))
                        .isEmpty();
                List<?> functions = (List<?>) Json.read(answer.body().getBytes(StandardCharsets.UTF_8));
                return functions.stream()
                        .map(function -> (Map<?, ?>) ((Map<?, ?>) function).get("canary"))
                        .filter(Objects::nonNull)
                        .findFirst()
                        .orElse(Map.of());
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public void close() throws Exception {
            process.destroy();
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void should_show_and_steer_the_canary_of_a_running_dispatcher(@TempDir Path directory) throws Exception {
        try (Served served = new Served(directory)) {
            Map<Integer, Integer> statuses = served.pings(200);
            Map<?, ?> canary = served.canary();
            System.out.println("served: " + statuses + ", " + canary);
            assertThat(canary.get("state")).isEqualTo("stopped");
            assertThat(canary.get("sharePercent")).hasToString("0");
            assertThat(canary.get("requestsFailed"))
                    .hasToString(statuses.get(500).toString());
            assertThat(statuses.get(200)).isEqualTo(200 - statuses.get(500));
            assertThat(served.command("stop").statusCode()).isEqualTo(409);

            // A reload keeps the state.
            served.write("canary: next, canary-steps: [20, 100], ");
            Await.until(
                    "reloaded", () -> ReleaseIT.text(directory.resolve("log")).contains("function shop, canary-steps"));
            assertThat(served.canary().get("state")).isEqualTo("stopped");
            assertThat(served.command("resume").body()).isEqualTo("{\"function\":\"shop\",\"to\":\"resume\"}");
            assertThat(served.canary().get("state")).isEqualTo("canary");
            assertThat(served.canary().get("sharePercent")).hasToString("20");
            assertThat(served.send("GET", served.adminPort, "/metrics").body())
                    .contains("lambda_dispatcher_canary_share{function=\"shop\"} 0.2");
            assertThat(served.command("stop").statusCode()).isEqualTo(200);

            served.write("");
            Await.until("the canary is removed", () -> served.canary().isEmpty());
        }
    }

    @Test
    void should_keep_a_stopped_canary_stopped_after_a_restart(@TempDir Path directory) throws Exception {
        Object reason;
        try (Served served = new Served(directory)) {
            served.pings(200);
            assertThat(served.canary().get("state")).isEqualTo("stopped");
            reason = served.canary().get("reason");
        }
        try (Served served = new Served(directory)) {
            System.out.println("restarted: " + served.canary());
            assertThat(served.canary().get("state")).isEqualTo("stopped");
            assertThat(served.canary().get("reason")).isEqualTo(reason);
            assertThat(served.pings(50)).containsOnly(Map.entry(200, 50));
            assertThat(served.command("resume").statusCode()).isEqualTo(200);
            assertThat(served.canary().get("state")).isEqualTo("canary");
        }
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
