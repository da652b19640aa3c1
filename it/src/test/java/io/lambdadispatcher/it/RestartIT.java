package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.server.demo.DemoHandler;
import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.testkit.Alone;
import io.lambdadispatcher.wire.testkit.Await;
import io.netty.channel.epoll.Epoll;
import java.math.BigDecimal;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A dispatcher that is alone on its machine is replaced under load: the new process serves beside
 * the old one, on the same socket, with the same workers and the same ledger in a file. Either
 * process is killed at each step.
 */
@Alone("connections are closed within fixed times")
class RestartIT {
    private static final String TOKEN = "a-token-for-the-admin-port-of-this-test";
    private static final int CLIENTS = 3;
    private static final int WORKERS = 2;
    /**
     * One request of each HTTP/1.1 client, and five of each HTTP/2 client, which notices the end of
     * its connection with another one.
     */
    private static final int MOST_IN_FLIGHT = CLIENTS * (1 + 5 + 1);

    private static final Duration MOST_START = Duration.ofSeconds(150);
    private static final Pattern ADMIN_URL = Pattern.compile("Listening for admin requests on (\\S+)");

    @TempDir
    Path directory;

    private final HttpClient client = HttpClient.newHttpClient();

    @BeforeEach
    void needPython() throws Exception {
        Assumptions.assumeTrue(Epoll.isAvailable(), "sockets are taken with epoll only");
        Assumptions.assumeTrue(HeldSockets.isPossible(), "python3 holds the sockets, and is not installed");
    }

    private HeldSockets dispatcher() throws Exception {
        return new HeldSockets(
                directory,
                Map.ofEntries(
                        Map.entry("FLEET_TABLE", directory.resolve("ledger").toString()),
                        Map.entry("WORKERS_SECRET", Rig.SECRET),
                        Map.entry("WORKERS_PORT", "127.0.0.1:0"),
                        Map.entry("ADMIN_PORT", "127.0.0.1:0"),
                        Map.entry("ADMIN_TOKEN", TOKEN),
                        Map.entry("SHUTDOWN_GRACE", "120s"),
                        Map.entry("FUNCTION_NAME", "shop"),
                        Map.entry("FUNCTION_LAUNCHER", "local"),
                        Map.entry("FUNCTION_HANDLER", DemoHandler.class.getName()),
                        Map.entry("FUNCTION_WORKER_CONCURRENCY", "50"),
                        Map.entry("FUNCTION_MIN_WORKERS", Integer.toString(WORKERS)),
                        Map.entry("FUNCTION_MAX_WORKERS", Integer.toString(WORKERS)),
                        Map.entry("FUNCTION_QUEUE_TIMEOUT", "60s"),
                        Map.entry("LOCAL_JVM_FLAGS", "-Xmx128m -XX:TieredStopAtLevel=1")),
                Map.of());
    }

    @Test
    void should_serve_beside_the_old_process_until_its_last_stream_has_ended() throws Exception {
        try (HeldSockets dispatcher = dispatcher();
                LoadClients http1 = LoadClients.http1(dispatcher.publicPort, CLIENTS);
                LoadClients http2 = LoadClients.http2(dispatcher.publicPort, CLIENTS)) {
            List<LoadClients> loads = List.of(http1, http2);
            dispatcher.awaitReady();
            awaitProgress(loads);
            command(dispatcher, "/launching?to=off");
            CompletableFuture<HttpResponse<String>> stream = stream(dispatcher, 300);

            dispatcher.start();
            dispatcher.awaitReady();
            assertThat(get(adminUrl(dispatcher) + "/ready").statusCode())
                    .as("the new process has the workers when it says so")
                    .isEqualTo(200);
            dispatcher.terminate();

            int before = http1.served() + http2.served();
            awaitProgress(loads);
            awaitProgress(loads);
            assertThat(stream).as("the long stream of the old process").isNotDone();
            assertThat(http1.served() + http2.served()).isGreaterThan(before);
            assertThat(budget(dispatcher))
                    .as("what the new process knows")
                    .containsEntry("launching", false)
                    .containsEntry("workers", BigDecimal.valueOf(WORKERS))
                    .hasEntrySatisfying(
                            "gbSecondsLastHour",
                            spent -> assertThat(((Number) spent).doubleValue()).isPositive());
            assertThat(stream.get(90, TimeUnit.SECONDS).body().lines().filter(line -> line.startsWith("data:")))
                    .hasSize(300);
            dispatcher.awaitExit();
            awaitProgress(loads);

            assertThat(loads).allSatisfy(load -> assertThat(load.lost()).isEmpty());
            assertThat(launches(dispatcher)).isEqualTo(WORKERS);
        }
    }

    @Test
    void should_survive_the_death_of_either_process_at_each_step() throws Exception {
        try (HeldSockets dispatcher = dispatcher();
                LoadClients http1 = LoadClients.http1(dispatcher.publicPort, CLIENTS);
                LoadClients http2 = LoadClients.http2(dispatcher.publicPort, CLIENTS)) {
            List<LoadClients> loads = List.of(http1, http2);
            dispatcher.awaitReady();
            awaitProgress(loads);

            // The new one, before it is ready: nobody notices.
            dispatcher.start();
            dispatcher.kill(1);
            awaitProgress(loads);
            assertThat(loads).allSatisfy(load -> assertThat(load.lost()).isEmpty());

            // The old one, before it is told to end: the new one adopts the workers.
            dispatcher.start();
            dispatcher.awaitReady();
            dispatcher.kill(0);
            Await.until(
                    "the new process takes over the workers",
                    MOST_START,
                    () -> dispatcher.log().contains("the others take over its workers"));
            awaitProgress(loads);
            assertThat(lost(loads)).isLessThanOrEqualTo(MOST_IN_FLIGHT);

            // The old one, while it drains.
            CompletableFuture<HttpResponse<String>> stream = stream(dispatcher, 300);
            dispatcher.start();
            dispatcher.awaitReady();
            int lost = lost(loads);
            dispatcher.terminate();
            awaitProgress(loads);
            dispatcher.kill(0);
            awaitProgress(loads);
            assertThat(stream).isCompletedExceptionally();
            assertThat(lost(loads)).isEqualTo(lost);
            assertThat(launches(dispatcher)).isEqualTo(WORKERS);
            assertThat(budget(dispatcher)).containsEntry("workers", BigDecimal.valueOf(WORKERS));
        }
    }

    /** Returns what the fleet shares about the function, as the newest process sees it. */
    private Map<String, Object> budget(HeldSockets dispatcher) throws Exception {
        Map<String, ?> fleet = (Map<String, ?>)
                Json.read(get(adminUrl(dispatcher) + "/api/fleet").body());
        return new HashMap<>(((List<Map<String, ?>>) fleet.get("functions")).get(0));
    }

    private HttpResponse<byte[]> get(String url) throws Exception {
        return client.send(HttpRequest.newBuilder(URI.create(url)).build(), BodyHandlers.ofByteArray());
    }

    private void command(HeldSockets dispatcher, String path) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(adminUrl(dispatcher) + path))
                .header("authorization", "Bearer " + TOKEN)
                .POST(HttpRequest.BodyPublishers.noBody())
                .build();
        assertThat(client.send(request, BodyHandlers.discarding()).statusCode()).isEqualTo(200);
    }

    private static String adminUrl(HeldSockets dispatcher) {
        List<String> urls = ADMIN_URL
                .matcher(dispatcher.log())
                .results()
                .map((MatchResult found) -> found.group(1))
                .toList();
        return urls.get(urls.size() - 1);
    }

    /** Opens a stream of server-sent events, five in a second. */
    private CompletableFuture<HttpResponse<String>> stream(HeldSockets dispatcher, int events) {
        return client.sendAsync(
                HttpRequest.newBuilder(URI.create(
                                "http://127.0.0.1:" + dispatcher.publicPort + "/sse?delay=200&count=" + events))
                        .version(HttpClient.Version.HTTP_1_1)
                        .build(),
                BodyHandlers.ofString());
    }

    private static long launches(HeldSockets dispatcher) {
        return dispatcher
                .log()
                .lines()
                .filter(line -> line.contains("launching worker "))
                .count();
    }

    private static int lost(List<LoadClients> loads) {
        return loads.stream().mapToInt(load -> load.lost().size()).sum();
    }

    private static void awaitProgress(List<LoadClients> loads) {
        LoadClients.awaitProgress(loads, MOST_START);
    }
}
