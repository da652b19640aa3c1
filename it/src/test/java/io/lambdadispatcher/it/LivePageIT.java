package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.event.Json;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;

/**
 * Tests the live page in a browser. Each question of an operator is produced on purpose, and the
 * page must answer it within ten seconds.
 *
 * <p>With {@code -Dlive.screenshots=DIRECTORY}, stores the images of the documents there.
 */
@Timeout(240)
@EnabledIf(
        value = "hasBrowser",
        disabledReason =
                "no Chromium is installed (apt-get install chromium), so the live page is not tested in a browser")
class LivePageIT {
    private static final int MAX_WORKERS = 2;

    private final HttpClient client = HttpClient.newHttpClient();
    private final int publicPort = Rig.freePort();
    private final int adminPort = Rig.freePort();
    private Path log;
    private Process server;
    private Browser browser;

    static boolean hasBrowser() {
        boolean found = Browser.installed().isPresent();
        if (!found) {
            System.err.println("LivePageIT is skipped: no Chromium is installed");
        }
        return found;
    }

    @BeforeEach
    void open() throws IOException {
        log = Files.createTempFile("live-page", ".log");
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        "io.lambdadispatcher.server.Main",
                        "serve")
                .redirectErrorStream(true)
                .redirectOutput(log.toFile());
        Map<String, String> settings = new HashMap<>();
        settings.put("PUBLIC_PLAIN_PORT", Integer.toString(publicPort));
        settings.put("ADMIN_PORT", Integer.toString(adminPort));
        settings.put("WORKERS_PORT", Integer.toString(Rig.freePort()));
        settings.put("WORKERS_HOST", "127.0.0.1");
        settings.put("FUNCTION_NAME", "shop");
        settings.put("FUNCTION_LAUNCHER", "local");
        settings.put("FUNCTION_HANDLER", "io.lambdadispatcher.server.demo.DemoHandler");
        settings.put("FUNCTION_MIN_WORKERS", "2");
        settings.put("FUNCTION_MAX_WORKERS", Integer.toString(MAX_WORKERS));
        settings.put("FUNCTION_STREAMS", "2");
        settings.put("FUNCTION_QUEUE_TIMEOUT", "20s");
        settings.put("FUNCTION_REQUEST_TIMEOUT", "15s");
        settings.forEach((name, value) -> builder.environment().put("LAMBDA_DISPATCHER_" + name, value));
        server = builder.start();
        Awaitility.await("two workers are ready")
                .atMost(Duration.ofSeconds(150))
                .until(() -> document("workers")
                                .filter(each -> "ready".equals(each.get("state")))
                                .count()
                        == 2);
        browser = Browser.start();
    }

    @AfterEach
    void close() throws Exception {
        if (browser != null) {
            browser.close();
        }
        server.destroy();
        if (!server.waitFor(30, TimeUnit.SECONDS)) {
            server.destroyForcibly();
        }
        Files.delete(log);
    }

    private Stream<Map<String, ?>> document(String name) {
        try {
            HttpResponse<byte[]> answer = client.send(
                    HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + adminPort + "/api/" + name))
                            .build(),
                    BodyHandlers.ofByteArray());
            return answer.statusCode() == 200
                    ? ((List<Map<String, ?>>) Json.read(answer.body())).stream()
                    : Stream.empty();
        } catch (IOException e) {
            return Stream.empty();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private CompletableFuture<HttpResponse<String>> get(String path) {
        return client.sendAsync(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + publicPort + path))
                        .build(),
                BodyHandlers.ofString());
    }

    private void show(int width, int height, boolean dark) {
        browser.look(width, height, dark);
        browser.open("http://127.0.0.1:" + adminPort + "/");
        browser.awaitText("#connection", "Live");
    }

    private void keep(String name) {
        String directory = System.getProperty("live.screenshots");
        if (directory != null) {
            browser.screenshot(Path.of(directory, name));
        }
    }

    @Test
    void should_answer_the_questions_of_an_incident() throws Exception {
        show(1440, 1250, false);

        // Which version runs where, which configuration is in force?
        browser.awaitText("#version", "Netty 4.2", "Java " + Runtime.version().feature());
        browser.evaluate("document.getElementById('config-details').open = true; ''");
        browser.awaitText("#settings", "function.queue-timeout", "20s", "environment variable", "workers.secret");
        assertThat(browser.evaluate("document.getElementById('config-details').innerText"))
                .doesNotContain("DISPATCHER_WORKERS_SECRET=");
        browser.evaluate("document.getElementById('config-details').open = false; ''");

        // Which request is stuck, and what does each worker do?
        get("/ping").get(10, TimeUnit.SECONDS);
        List<CompletableFuture<HttpResponse<String>>> held = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            held.add(get("/delay?delay=60000&order=" + i));
        }
        browser.awaitText("#requests", "GET /delay", "worker has it", "http_1");
        browser.awaitText("#workers", "2 of 2");

        // Why do clients wait?
        CompletableFuture<HttpResponse<String>> waiting = get("/ping");
        browser.awaitText(
                "#functions",
                "1 request waits for a worker",
                "0 of 4 worker streams are free",
                "function.max-workers (2) is reached (max_workers)");
        browser.awaitText("#requests", "waits for a worker");
        keep("live-page.png");
        browser.look(1440, 1250, true);
        keep("live-page-dark.png");
        browser.look(1440, 1250, false);

        // What did the last hour cost?
        browser.awaitText("#functions", "GB-seconds of workers", "in the last hour", "As direct invocations: $");

        // Which worker is sick? One is killed, and its requests fail.
        server.children().findFirst().orElseThrow().destroyForcibly();
        browser.awaitText("#launches", "failed", "running");
        browser.awaitText("#workers", "starting");
        assertThat(waiting.get(30, TimeUnit.SECONDS).statusCode()).isEqualTo(200);

        // Why do requests fail?
        browser.awaitText("#failures", "timeout", "504", "GET /delay");
        assertThat(browser.problems).isEmpty();
        assertThat(browser.hosts).containsExactly("127.0.0.1:" + adminPort);
    }

    @Test
    void should_fit_a_phone_and_a_wide_screen_in_both_colour_schemes() {
        List<String> backgrounds = new ArrayList<>();
        for (int width : new int[] {360, 1440}) {
            for (boolean dark : new boolean[] {false, true}) {
                show(width, 900, dark);
                browser.awaitText("#workers", "ready");
                assertThat(browser.evaluate("String(document.documentElement.scrollWidth <= innerWidth)"))
                        .as("nothing is wider than %d pixels", width)
                        .isEqualTo("true");
                backgrounds.add(browser.evaluate("getComputedStyle(document.body).backgroundColor"));
                keep("live-page-" + width + (dark ? "-dark.png" : ".png"));
            }
        }
        assertThat(backgrounds.get(0)).isEqualTo(backgrounds.get(2)).isNotEqualTo(backgrounds.get(1));

        String first = browser.evaluate("document.getElementById('connection').textContent");
        Awaitility.await("the page is live")
                .atMost(Duration.ofSeconds(10))
                .until(() -> !browser.evaluate("document.getElementById('connection').textContent")
                        .equals(first));
        browser.evaluate("document.getElementById('workers-filter').value = 'no such worker';"
                + " document.getElementById('workers-filter').dispatchEvent(new Event('input')); ''");
        browser.awaitText("#workers-count", "0 of 2");
        assertThat(browser.problems).isEmpty();
        assertThat(browser.hosts).containsExactly("127.0.0.1:" + adminPort);
    }
}
