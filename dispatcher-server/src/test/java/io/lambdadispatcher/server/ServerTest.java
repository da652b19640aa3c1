package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationLoader;
import io.lambdadispatcher.server.config.FunctionSettings;
import io.lambdadispatcher.server.config.Setting;
import io.lambdadispatcher.server.config.Settings;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.testkit.LoggedLines;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A whole server on free ports of the loopback, with no worker: every request times out in the
 * pending queue.
 */
@EachRelease
class ServerTest {
    private static final String TOKEN = "0123456789abcdef";

    private final HttpClient client = HttpClient.newHttpClient();
    private Server server;

    @AfterEach
    void stop() throws InterruptedException {
        if (server != null) {
            server.stop(false);
        }
    }

    private void start(Map<Setting<?>, String> more) throws Exception {
        start(more, DispatcherObserver.NONE);
    }

    private void start(Map<Setting<?>, String> more, DispatcherObserver observer) throws Exception {
        Map<Setting<?>, String> settings = new HashMap<>(Map.of(
                Settings.PUBLIC_PLAIN_PORT, "127.0.0.1:0",
                Settings.WORKERS_PORT, "127.0.0.1:0",
                Settings.ADMIN_PORT, "0",
                Settings.WORKERS_SECRET, "0123456789abcdef",
                FunctionSettings.FUNCTION_QUEUE_TIMEOUT, "1ms",
                Settings.SHUTDOWN_GRACE, "1s"));
        settings.putAll(more);
        Configuration configuration = ConfigurationLoader.load(settings, null, Map.of(), Map.of(), List.of());
        server = Server.start(configuration, observer, Map.of());
    }

    private HttpResponse<String> get(String url) throws Exception {
        return client.send(HttpRequest.newBuilder(URI.create(url)).build(), BodyHandlers.ofString());
    }

    /** A load balancer asks {@code /ready}, and sends requests until it notices. */
    @Test
    void should_keep_serving_for_the_delay() throws Exception {
        start(Map.of(Settings.SHUTDOWN_DELAY, "2s"));
        Server stopping = server;
        server = null;
        String ready = stopping.adminUrl() + "/ready";
        String ping = stopping.publicUrls().get(0) + "/ping";
        long begin = System.nanoTime();
        CompletableFuture<Boolean> stopped = CompletableFuture.supplyAsync(() -> stop(stopping));
        while (!get(ready).body().contains("shut")) {
            assertThat(stopped).isNotDone();
        }
        assertThat(get(ping).body()).doesNotContain("shut");
        assertThat(stopped).isNotDone();
        assertThat(stopped.get(60, TimeUnit.SECONDS)).isTrue();
        assertThat(System.nanoTime() - begin).isGreaterThan(TimeUnit.SECONDS.toNanos(2));
    }

    private static boolean stop(Server server) {
        try {
            return server.stop(true);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void should_count_a_request_that_no_worker_takes() throws Exception {
        start(Map.of());

        assertThat(get(server.publicUrls().get(0) + "/ping").statusCode()).isEqualTo(503);
        HttpResponse<String> ready = get(server.adminUrl() + "/ready");
        assertThat(ready.statusCode()).isEqualTo(503);
        assertThat(ready.body()).contains("function default has 0 of 1 workers ready");
        assertThat(get(server.adminUrl() + "/metrics").body())
                .contains(
                        "lambda_dispatcher_requests_total{function=\"default\",outcome=\"failed\",status=\"5xx\"} 1.0\n")
                .contains("lambda_dispatcher_ready 0.0\n")
                .contains("lambda_dispatcher_client_connections 1.0\n")
                .contains("lambda_dispatcher_workers{function=\"default\"} 0.0\n");
    }

    @Test
    void should_write_an_access_log(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("access.log");
        start(Map.of(Settings.ACCESS_LOG_FILE, file.toString()));

        get(server.publicUrls().get(0) + "/ping?x");
        server.stop(false);
        server = null;

        assertThat(Files.readAllLines(file))
                .singleElement()
                .asString()
                .contains("\"path\":\"/ping?x\"", "\"status\":503", "\"failure\":\"queue_timeout\"");
    }

    @Test
    void should_count_the_lines_that_an_access_log_on_a_full_disk_loses() throws Exception {
        start(Map.of(Settings.ACCESS_LOG_FILE, "/dev/full"));

        get(server.publicUrls().get(0) + "/ping");

        Await.until(
                "the line is lost",
                () -> get(server.adminUrl() + "/metrics")
                        .body()
                        .contains("lambda_dispatcher_access_log_dropped_total 1.0\n"));
    }

    /**
     * Starts a server whose only event loop hangs in an observer.
     *
     * @return ends it
     */
    private CountDownLatch startHanging(Map<Setting<?>, String> more) throws Exception {
        CountDownLatch hangs = new CountDownLatch(1);
        CountDownLatch mayGoOn = new CountDownLatch(1);
        Map<Setting<?>, String> settings = new HashMap<>(more);
        settings.put(Settings.EVENT_LOOPS, "1");
        start(settings, new DispatcherObserver() {
            @Override
            public ExchangeListener onExchangeStart(ExchangeStart start) {
                return end -> {
                    hangs.countDown();
                    try {
                        mayGoOn.await();
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                };
            }
        });
        client.sendAsync(
                HttpRequest.newBuilder(URI.create(server.publicUrls().get(0) + "/ping"))
                        .build(),
                BodyHandlers.discarding());
        hangs.await();
        return mayGoOn;
    }

    @Test
    void should_answer_on_the_admin_port_while_all_event_loops_hang() throws Exception {
        CountDownLatch mayGoOn = startHanging(Map.of(Settings.ADMIN_TOKEN, TOKEN));
        try {
            for (String path : List.of("/health", "/ready", "/started", "/metrics", "/launching")) {
                assertThat(get(server.adminUrl() + path).statusCode())
                        .as(path)
                        .isEqualTo(path.equals("/ready") || path.equals("/started") ? 503 : 200); // no worker is there
            }
            HttpRequest change = HttpRequest.newBuilder(URI.create(server.adminUrl() + "/launching?to=off"))
                    .POST(BodyPublishers.noBody())
                    .build();
            assertThat(client.send(change, BodyHandlers.discarding()).statusCode())
                    .as("without the token")
                    .isEqualTo(401);
        } finally {
            mayGoOn.countDown();
        }
    }

    /** Each viewer would wait 4 s if they waited in turn. */
    @Test
    void should_show_all_viewers_what_needs_no_event_loop_while_one_hangs() throws Exception {
        CountDownLatch mayGoOn = startHanging(Map.of());
        List<BufferedReader> viewers = new ArrayList<>();
        try {
            for (int i = 0; i < 12; i++) {
                viewers.add(new BufferedReader(new InputStreamReader(
                        client.send(
                                        HttpRequest.newBuilder(URI.create(server.adminUrl() + "/events"))
                                                .build(),
                                        BodyHandlers.ofInputStream())
                                .body(),
                        StandardCharsets.UTF_8)));
            }
            long beginNanos = System.nanoTime();
            for (String document : List.of("version", "launches", "functions", "failures", "config")) {
                assertThat(get(server.adminUrl() + "/api/" + document).statusCode())
                        .isEqualTo(200);
            }
            assertThat(System.nanoTime() - beginNanos)
                    .as("they do not wait for events")
                    .isLessThan(TimeUnit.SECONDS.toNanos(2));
            for (int event = 0; event < 2; event++) {
                for (BufferedReader viewer : viewers) {
                    assertThat(viewer.readLine())
                            .startsWith("data: {\"problem\":\"an event loop has not answered within 2 s,")
                            .contains("\"functions\":[{\"name\":\"default\"", "\"launches\":[]", "\"failures\":[]")
                            .doesNotContain("\"workers\"", "\"requests\":[");
                    assertThat(viewer.readLine()).isEmpty();
                }
            }
            assertThat(get(server.adminUrl() + "/api/workers").statusCode()).isEqualTo(503);
            assertThat(System.nanoTime() - beginNanos).isLessThan(TimeUnit.SECONDS.toNanos(20));
            mayGoOn.countDown();
            String line = viewers.get(0).readLine();
            while (!line.contains("\"workers\":[]")) {
                line = viewers.get(0).readLine();
            }
            assertThat(line).doesNotContain("problem");
        } finally {
            mayGoOn.countDown();
            for (BufferedReader viewer : viewers) {
                viewer.close();
            }
        }
    }

    @Test
    void should_take_no_samples_for_a_live_page_that_is_off() throws Exception {
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        start(Map.of(Settings.ADMIN_PORT, "off"));

        assertThat(Thread.getAllStackTraces().keySet())
                .filteredOn(thread -> !before.contains(thread))
                .extracting(Thread::getName)
                .noneMatch(name -> name.startsWith("live-history"));
    }

    @Test
    void should_send_no_function_away_with_404() throws Exception {
        start(Map.of(FunctionSettings.FUNCTION_PATH, "/images"));

        assertThat(get(server.publicUrls().get(0) + "/ping").statusCode()).isEqualTo(404);
    }

    @Test
    void should_serve_tls_with_the_demo_certificate() throws Exception {
        try (DemoCertificate certificate = DemoCertificate.create()) {
            start(Map.of(
                    Settings.PUBLIC_TLS_PORT,
                    "127.0.0.1:0",
                    Settings.PUBLIC_TLS_CERTIFICATE,
                    certificate.certificate().toString(),
                    Settings.PUBLIC_TLS_KEY,
                    certificate.key().toString()));

            assertThat(server.publicUrls()).hasSize(2);
            assertThat(server.publicUrls().get(1)).startsWith("https://127.0.0.1:");
        }
    }

    @ParameterizedTest
    @CsvSource({", https", "off, http"})
    void should_say_whether_the_worker_port_has_tls(String certificate, String scheme) throws Exception {
        try (LoggedLines log = LoggedLines.of(Server.class, Level.INFO)) {
            start(certificate == null ? Map.of() : Map.of(Settings.WORKERS_TLS_CERTIFICATE, certificate));

            assertThat(log.messages())
                    .contains("Listening for workers on " + scheme + "://127.0.0.1:" + server.workersPort());
        }
    }

    @Test
    void should_stay_switched_off_after_a_restart(@TempDir Path directory) throws Exception {
        Map<Setting<?>, String> settings = Map.of(
                Settings.STATE_FILE,
                directory.resolve("state.json").toString(),
                FunctionSettings.FUNCTION_LAUNCHER,
                "local",
                Settings.LOCAL_COMMAND,
                "sleep 60",
                FunctionSettings.FUNCTION_MAX_WORKERS,
                "1",
                Settings.ADMIN_TOKEN,
                TOKEN);
        start(settings);
        assertThat(post(server.adminUrl() + "/launching?to=off").statusCode()).isEqualTo(200);
        // Shown as soon as the supervisor has done it.
        Await.until(
                "the server has changed",
                () -> get(server.adminUrl() + "/launching").body().contains("launching is paused by the kill switch"));
        server.stop(false);

        start(settings);
        Await.until(
                "the server has changed",
                () -> get(server.adminUrl() + "/launching").body().contains("launching is paused by the kill switch"));
    }

    private HttpResponse<String> post(String url) throws Exception {
        return client.send(
                HttpRequest.newBuilder(URI.create(url))
                        .header("authorization", "Bearer " + TOKEN)
                        .POST(HttpRequest.BodyPublishers.noBody())
                        .build(),
                BodyHandlers.ofString());
    }

    @Test
    void should_close_every_port_when_it_is_stopped() throws Exception {
        start(Map.of());
        List<URI> ports = List.of(URI.create(server.publicUrls().get(0)), URI.create(server.adminUrl()));

        assertThat(server.stop(false)).isTrue();
        server = null;

        for (URI port : ports) {
            new java.net.ServerSocket(port.getPort(), 1, java.net.InetAddress.getByName(port.getHost())).close();
        }
    }
}
