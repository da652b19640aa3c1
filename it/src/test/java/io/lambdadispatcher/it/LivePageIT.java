package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.Await;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;

/**
 * Tests the live page in a browser. Each question of an operator is produced on purpose, and the
 * page must answer it within ten seconds.
 *
 * <p>With {@code -Dit.programs -Djvm.flags=-Dlive.screenshots=DIRECTORY}, stores images there.
 */
@StartsPrograms
@Timeout(240)
@EnabledIf(
        value = "hasBrowser",
        disabledReason =
                "no Chromium is installed (apt-get install chromium), so the live page is not tested in a browser")
class LivePageIT {
    private static final String TOKEN = "0123456789abcdef";

    private ServedProgram program;
    private Browser browser;

    static boolean hasBrowser() {
        boolean found = Browser.installed().isPresent();
        if (!found) {
            System.err.println("LivePageIT is skipped: no Chromium is installed");
        }
        return found;
    }

    @BeforeEach
    void open() throws Exception {
        program = ServedProgram.start(
                Map.of("ADMIN_TOKEN", TOKEN, "FUNCTION_CIRCUIT_BREAKER", "50%", "FUNCTION_TENANT_HEADER", "x-tenant"));
        browser = Browser.start();
    }

    @AfterEach
    void close() throws Exception {
        if (browser != null) {
            browser.close();
        }
        if (program != null) {
            program.close();
        }
    }

    private void show(int width, int height, boolean dark) {
        browser.look(width, height, dark);
        browser.open(program.adminUrl() + "/");
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

        // Does this dispatcher belong to a fleet?
        assertThat(browser.evaluate("String(document.getElementById('fleet').hidden)"))
                .isEqualTo("true");

        // Which request is stuck, and what does each worker do?
        program.get("/ping").get(10, TimeUnit.SECONDS);
        List<CompletableFuture<HttpResponse<String>>> held = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            held.add(program.get("/delay?delay=60000&order=" + i, "x-tenant", "acme"));
        }
        browser.awaitText("#requests", "GET /delay", "worker has it", "http_1");
        browser.awaitText("#workers", "2 of 2");

        // Why do clients wait?
        CompletableFuture<HttpResponse<String>> waiting = program.get("/ping");
        browser.awaitText(
                "#functions",
                "1 request waits for a worker",
                "0 of 4 worker streams are free",
                "function.max-workers (2) is reached (max_workers)",
                "No more workers may be launched.");
        browser.awaitText("#requests", "waits for a worker");
        keep("live-page-waiting.png");
        browser.look(1440, 1250, true);
        keep("live-page-waiting-dark.png");
        browser.look(1440, 1250, false);

        // What does it cost? The dispatcher is younger than an hour.
        browser.awaitText("#overall", "Lambda, since the start");
        browser.awaitText("#functions", "GB-seconds of workers", "As direct invocations: $");
        assertThat(browser.evaluate("document.body.innerText")).doesNotContain("last hour");

        // Where does the time go, and which tenant, client and route are heavy?
        browser.awaitText("#functions figure", "Latency", "first byte p99", "queue p99", "5 min ago");
        browser.awaitText("#client", "acme", " %");
        browser.awaitText("#route", "GET /delay", "GET /ping", "/s");
        browser.awaitText("#route-head", "Rate", "p99");
        browser.awaitText("#overall", "1 in trouble", "0 + 2");

        // Which worker is sick? One is killed, and its requests fail.
        program.killOneWorker();
        browser.awaitText("#launches", "failed", "running");
        browser.awaitText("#history", "1 launched worker failed of shop", " launched of shop");
        assertThat(waiting.get(30, TimeUnit.SECONDS).statusCode()).isEqualTo(200);

        // Why do requests fail?
        browser.awaitText("#failures", "timeout", "504", "GET /delay");

        // Does a breaker keep requests away from the function?
        for (int i = 0; i < 30; i++) {
            program.get("/fail").get(10, TimeUnit.SECONDS);
        }
        browser.awaitText(
                "#functions", "Breaker default lets 0 % of the requests pass", "requests failed or were slow");
        assertThat(browser.problems).isEmpty();
        assertThat(browser.hosts).containsExactly("127.0.0.1:" + program.adminPort);
    }

    private String state(String id) {
        return program.document("workers")
                .filter(worker -> id.equals(worker.get("id")))
                .map(worker -> String.valueOf(worker.get("state")))
                .findFirst()
                .orElse("gone");
    }

    /** Uses only the keyboard, and reads what a screen reader reads. */
    @Test
    void should_change_what_runs_after_a_confirmation() {
        show(1440, 900, false);
        browser.awaitText("#workers", "ready");
        browser.tabTo("#changes summary");
        browser.press("Enter");

        // Nothing works without a token.
        browser.tabTo("[data-change=launchingOff]");
        browser.press("Enter");
        browser.awaitText("#change-result", "Enter a token first.");
        assertThat(browser.focused()).isEqualTo("textbox Token");

        // A wrong token is refused and forgotten.
        browser.type("wrong-token");
        browser.press("Enter");
        browser.awaitText("#token-state", "There is a token.");
        browser.tabTo("[data-change=launchingOff]");
        browser.press("Space");
        assertThat(browser.focused()).isEqualTo("button Cancel");
        browser.press("Tab");
        assertThat(browser.focused()).isEqualTo("button Pause");
        browser.press("Enter");
        browser.awaitText("#change-result", "token");
        browser.awaitText("#token-state", "There is no token.");
        assertThat(program.document("functions").noneMatch(of -> of.containsKey("launchesBlocked")))
                .isTrue();

        // Escape changes nothing, and leads back to the button.
        browser.evaluate("document.getElementById('token').focus(); ''");
        browser.type(TOKEN);
        browser.press("Enter");
        browser.tabTo("[data-change=launchingOff]");
        browser.press("Enter");
        browser.awaitText("#confirm", "Pause launching of workers of function shop?", "Workers that run keep serving");
        browser.press("Escape");
        assertThat(browser.focused()).isEqualTo("button Pause");
        assertThat(browser.evaluate("String(document.getElementById('confirm').open)"))
                .isEqualTo("false");

        browser.press("Enter");
        browser.press("Tab");
        browser.press("Enter");
        browser.awaitText("#change-result", "The change is accepted.");
        browser.awaitText("#functions", "Launching is paused by the kill switch");
        browser.awaitText("#history", "POST /launching?to=off&function=shop from 127.0.0.1 port ", " with token 1");
        browser.tabTo("[data-change=launchingOn]");
        browser.press("Enter");
        browser.press("Tab");
        browser.press("Enter");
        browser.awaitText("#functions", "Launching is not limited");

        // A worker must be chosen.
        browser.evaluate("document.getElementById('change-function').focus(); ''");
        browser.tabTo("[data-change=drain]");
        browser.press("Enter");
        browser.awaitText("#change-result", "Choose a worker first.");
        assertThat(browser.focused()).startsWith("combobox Worker");
        browser.press("ArrowDown");
        browser.press("ArrowDown");
        String worker = browser.evaluate("document.getElementById('change-worker').value");
        assertThat(state(worker)).isEqualTo("ready");
        browser.tabTo("[data-change=drain]");
        browser.press("Enter");
        browser.awaitText("#confirm", "Drain worker " + worker + " of function shop?");
        browser.press("Tab");
        browser.press("Enter");
        browser.awaitText("#change-result", "Worker " + worker + ": accepted.");
        Await.until("the worker has left", () -> !state(worker).equals("ready"));
        Await.until(
                "no other worker is chosen in its place",
                () -> browser.evaluate("document.getElementById('change-worker').value")
                        .isEmpty());

        browser.evaluate("document.getElementById('change-level').value = 'debug';"
                + " document.querySelector('[data-change=level]').click(); ''");
        browser.awaitText("#confirm", "Set the log level to debug?");
        browser.evaluate("document.getElementById('confirm-yes').click(); ''");
        browser.awaitText("#change-result", "The change is accepted.");

        // The token is in this tab only.
        assertThat(browser.evaluate("String(sessionStorage.length) + localStorage.length + document.cookie"))
                .isEqualTo("10");
        assertThat(browser.evaluate("document.body.outerHTML")).doesNotContain(TOKEN);
        browser.evaluate("document.getElementById('token-forget').click(); ''");
        assertThat(browser.evaluate("String(sessionStorage.length)")).isEqualTo("0");
        // The browser logs the refused request.
        assertThat(browser.problems).allMatch(problem -> problem.contains("401"));
        assertThat(browser.hosts).containsExactly("127.0.0.1:" + program.adminPort);
    }

    @Test
    void should_fit_a_phone_and_a_wide_screen_in_both_colour_schemes() {
        List<String> backgrounds = new ArrayList<>();
        for (int width : new int[] {360, 1440}) {
            for (boolean dark : new boolean[] {false, true}) {
                show(width, 900, dark);
                browser.awaitText("#workers", "ready");
                browser.evaluate("document.getElementById('changes').open = true; ''");
                assertThat(browser.evaluate("String(document.documentElement.scrollWidth <= innerWidth)"))
                        .as("nothing is wider than %d pixels", width)
                        .isEqualTo("true");
                backgrounds.add(browser.evaluate("getComputedStyle(document.body).backgroundColor"));
                keep("live-page-" + width + (dark ? "-dark.png" : ".png"));
            }
        }
        assertThat(backgrounds.get(0)).isEqualTo(backgrounds.get(2)).isNotEqualTo(backgrounds.get(1));

        String first = browser.evaluate("document.getElementById('time').textContent");
        Await.until(
                "the page is live",
                () -> !browser.evaluate("document.getElementById('time').textContent")
                        .equals(first));
        browser.evaluate("document.getElementById('workers-filter').value = 'no such worker';"
                + " document.getElementById('workers-filter').dispatchEvent(new Event('input')); ''");
        browser.awaitText("#workers-count", "0 of 2");
        assertThat(browser.problems).isEmpty();
        assertThat(browser.hosts).containsExactly("127.0.0.1:" + program.adminPort);
    }
}
