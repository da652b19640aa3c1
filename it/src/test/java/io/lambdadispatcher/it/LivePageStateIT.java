package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.server.admin.AdminAccess;
import io.lambdadispatcher.server.admin.AdminPages;
import io.lambdadispatcher.server.admin.AdminServer;
import io.lambdadispatcher.server.admin.Launching;
import io.lambdadispatcher.server.admin.LiveSettings;
import io.lambdadispatcher.server.admin.Readiness;
import io.lambdadispatcher.server.admin.WorkerControl;
import io.lambdadispatcher.wire.testkit.Await;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;

/**
 * Tests the live page in a browser, on an admin port for which the test makes up what the
 * dispatcher does.
 */
@Timeout(120)
@EnabledIf(
        value = "io.lambdadispatcher.it.LivePageIT#hasBrowser",
        disabledReason =
                "no Chromium is installed (apt-get install chromium), so the live page is not tested in a browser")
class LivePageStateIT {
    private static final int VIEWERS = 16;

    private volatile boolean starting;
    private volatile String version = "1.0";
    /** Members of the state, each with a comma behind it. */
    private volatile String state = "\"workers\":[],\"requests\":[],";

    private AdminServer server;
    private Browser browser;

    @BeforeEach
    void open() throws Exception {
        server = serve(0);
        browser = Browser.start();
    }

    @AfterEach
    void close() throws Exception {
        if (browser != null) {
            browser.close();
        }
        server.close();
    }

    private AdminServer serve(int port) throws Exception {
        return new AdminServer(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), port),
                new AdminPages(
                        new Readiness(),
                        new Launching(),
                        new WorkerControl(),
                        LiveSettings.NONE,
                        () -> "",
                        this::document),
                new AdminAccess(Set.of(), List.of(Rig.SECRET.getBytes(StandardCharsets.US_ASCII)), List.of()),
                null,
                protection -> {});
    }

    private byte[] document(String name) {
        if (starting) {
            throw new IllegalStateException("the dispatcher is starting");
        }
        String json = switch (name) {
            case "live" ->
                "{" + state + "\"time\":\"" + Instant.now() + "\",\"launches\":[],\"failures\":[],"
                        + "\"functions\":[{\"name\":\"shop\",\"queued\":0,\"streams\":1,\"history\":[]}]}";
            case "version" -> "{\"version\":\"" + version + "\",\"started\":\"2026-11-23T12:30:45Z\"}";
            case "config" -> "{\"hash\":\"0123\",\"settings\":[]}";
            default -> throw new AssertionError(name);
        };
        return json.getBytes(StandardCharsets.UTF_8);
    }

    private static String worker(String id, String state, String more) {
        return "{\"id\":\"" + id + "\",\"function\":\"shop\",\"state\":\"" + state
                + "\",\"busy\":0,\"completed\":100,\"failed\":0" + more + "}";
    }

    private String url() {
        return "http://127.0.0.1:" + server.address().getPort() + "/";
    }

    private void show() {
        browser.look(1440, 900, false);
        browser.open(url());
    }

    @Test
    void should_show_what_is_known_while_an_event_loop_is_stuck() {
        state = "\"workers\":[" + worker("w-1", "ready", "") + "],\"requests\":[],";
        show();
        browser.awaitText("#workers", "w-1");

        state = "\"problem\":\"an event loop has not answered\",";
        browser.awaitText("#connection", "an event loop has not answered");
        browser.awaitText("#functions", "shop");
        browser.awaitText("#workers", "w-1");

        browser.open(url());
        browser.awaitText("#workers-count", "not known");
        browser.awaitText("#functions", "shop");
        assertThat(browser.problems).isEmpty();
    }

    @Test
    void should_show_sick_workers_first_and_their_whole_id() {
        String id = "123e4567-e89b-12d3-a456-426614174000";
        List<String> workers = new ArrayList<>();
        for (int i = 0; i < 150; i++) {
            workers.add(worker("new-" + i, "starting", ""));
        }
        workers.add(worker(id, "ready", ",\"loopLagMillis\":900"));
        state = "\"workers\":[" + String.join(",", workers) + "],\"requests\":[],";
        show();

        browser.awaitText("#workers tr", id, "ready", "900 ms");
    }

    /** The answer to one viewer too many is 503. It would take the place of one without a token. */
    @Test
    void should_try_again_if_it_is_refused() throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        List<InputStream> viewers = new ArrayList<>();
        for (int i = 0; i < VIEWERS; i++) {
            viewers.add(client.send(
                            HttpRequest.newBuilder(URI.create(url() + "events"))
                                    .header("authorization", "Bearer " + Rig.SECRET)
                                    .build(),
                            BodyHandlers.ofInputStream())
                    .body());
        }
        show();
        browser.awaitText("#connection", "refuses this viewer");

        for (InputStream viewer : viewers) {
            viewer.close();
        }
        browser.awaitText("#connection", "Live");
    }

    @Test
    void should_describe_the_process_that_runs_now() throws Exception {
        starting = true;
        show();
        browser.awaitText("#connection", "the dispatcher is starting");
        starting = false;
        browser.awaitText("#version", "Version 1.0");

        int port = server.address().getPort();
        server.close();
        browser.awaitText("#connection", "does not answer");
        version = "2.0";
        server = serve(port);
        browser.awaitText("#version", "Version 2.0");
        browser.awaitText("#connection", "Live");
    }

    private void awaitNextSecond() {
        String time = browser.evaluate("document.getElementById('time').textContent");
        Await.until(
                "the time changes",
                () -> !browser.evaluate("document.getElementById('time').textContent")
                        .equals(time));
    }

    @Test
    void should_announce_only_changes_of_the_state() {
        show();
        browser.awaitText("#connection", "Live");
        browser.evaluate("window.changes = []; new MutationObserver(() => changes.push(document.getElementById("
                + "'connection').textContent)).observe(document.getElementById('connection'),"
                + " {childList: true, characterData: true, subtree: true}); ''");
        awaitNextSecond();
        awaitNextSecond();
        browser.evaluate("document.getElementById('pause').click(); ''");
        browser.awaitText("#pause", "Continue");
        browser.awaitText("#connection", "Paused");
        browser.evaluate("document.getElementById('pause').click(); ''");
        browser.awaitText("#connection", "Live");
        awaitNextSecond();

        assertThat(browser.evaluate("changes.join()")).isEqualTo("Paused,Live");
        assertThat(browser.problems).isEmpty();
    }
}
