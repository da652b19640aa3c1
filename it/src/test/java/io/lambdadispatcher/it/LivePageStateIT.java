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
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests the live page in a browser, on an admin port for which the test makes up what the
 * dispatcher does.
 */
@StartsPrograms
@Timeout(120)
@EnabledIf(
        value = "io.lambdadispatcher.it.LivePageIT#hasBrowser",
        disabledReason =
                "no Chromium is installed (apt-get install chromium), so the live page is not tested in a browser")
class LivePageStateIT {
    private static final int VIEWERS = 16;

    private volatile boolean starting;
    private volatile String version = "1.0";
    private volatile String started = "2026-11-23T12:30:45Z";
    /** Members of the state, each with a comma behind it. */
    private volatile String state = "\"workers\":[],\"requests\":[],";

    private volatile String functions = function("shop", "");

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
                "{" + state + "\"time\":\"" + Instant.now() + "\",\"launches\":[],\"failures\":[]," + "\"functions\":["
                        + functions + "]}";
            case "version" -> "{\"version\":\"" + version + "\",\"started\":\"" + started + "\"}";
            case "config" -> "{\"hash\":\"0123\",\"settings\":[]}";
            default -> throw new AssertionError(name);
        };
        return json.getBytes(StandardCharsets.UTF_8);
    }

    private static String function(String name, String more) {
        return "{\"name\":\"" + name + "\",\"queued\":0,\"streams\":1,\"history\":[]" + more + "}";
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

        browser.awaitText("#workers tr", "123e4567…", "ready", "900 ms");
        assertThat(browser.evaluate("document.querySelector('#workers [data-copy]').dataset.copy"))
                .isEqualTo(id);
        assertThat(browser.evaluate("document.querySelector('#workers code').title"))
                .isEqualTo(id);
        assertThat(browser.evaluate("document.getElementById('workers-head').innerText"))
                .as("columns that are empty are hidden")
                .contains("State", "Lag")
                .doesNotContain("Zone", "Version", "CPU");
    }

    /** The squares show all workers, also those that the table does not. */
    @Test
    void should_show_many_workers_at_a_glance_and_find_those_of_a_state() {
        List<String> workers = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            workers.add(worker(
                    "worker-" + i, i == 499 ? "ejected" : "ready", i == 499 ? ",\"ejected\":\"9 of 10 failed\"" : ""));
        }
        state = "\"workers\":[" + String.join(",", workers) + "],\"requests\":[],";
        show();

        browser.awaitText("#workers-count", "500, 100 shown");
        assertThat(browser.evaluate("String(document.querySelectorAll('#workers-strip [data-find]').length)"))
                .isEqualTo("500");
        assertThat(browser.evaluate("document.querySelector('#workers-strip .strip').ariaLabel"))
                .isEqualTo("500 workers: 499 ready, 1 ejected");
        browser.awaitText("#workers tr:nth-child(2)", "Ejected: 9 of 10 failed");
        browser.awaitText("#functions", "Worker worker-499 is ejected: 9 of 10 failed.");

        // Only with the keyboard.
        browser.tabTo("[data-chip=ejected]");
        browser.press("Space");
        browser.awaitText("#workers-count", "1 of 500");
        assertThat(browser.focused()).isEqualTo("button ejected 1");
        awaitNextSecond();
        assertThat(browser.focused()).as("the focus outlives updates").isEqualTo("button ejected 1");
        browser.press("Space");
        browser.evaluate("document.querySelector('[data-find=worker-7]').click(); ''");
        browser.awaitText("#workers-count", "1 of 500");
        browser.awaitText("#workers", "worker-7");
        assertThat(browser.problems).isEmpty();
    }

    @Test
    void should_say_that_base_and_launched_workers_have_different_versions() {
        functions = function(
                "shop",
                ",\"workersDesired\":1,\"base\":{\"workers\":1,\"concurrency\":8,\"busy\":0,\"excess\":0,\"version\":\"8\","
                        + "\"versionDifference\":\"the base has version 8, and launched workers have version 7\"}");
        show();
        browser.awaitText(
                "#functions", "versions differ", "The base has version 8, and launched workers have version 7.");
        browser.awaitText("#overall", "1 in trouble");
        assertThat(browser.problems).isEmpty();
    }

    @Test
    void should_say_which_base_would_cost_least() {
        String advised =
                ",\"workersDesired\":1,\"advisedBase\":{\"concurrency\":50,\"dollarsPerHour\":0.214,\"dollarsPerHourNow\":1.5}";
        functions = function("shop", advised);
        show();
        browser.awaitText(
                "#functions",
                "Advised base: 50 concurrent requests. With the traffic of the last hours, an hour costs $0.21 with it, and"
                        + " $1.50 without a base.");

        functions = function("shop", advised + ",\"base\":{\"workers\":2,\"concurrency\":40,\"busy\":0,\"excess\":0}");
        browser.awaitText(
                "#functions",
                "Advised base: 50 concurrent requests (3 workers of the present size).",
                "and $1.50 with the present base.");
        assertThat(browser.problems).isEmpty();
    }

    @Test
    void should_say_what_the_schedule_has_cost_and_saved() {
        String members =
                ",\"workersDesired\":8,\"scheduled\":{\"minimum\":%d,\"gbSeconds\":4200.5,\"dollars\":0.07,\"requests\":310}";
        functions = function("shop", members.formatted(8));
        show();
        browser.awaitText(
                "#functions",
                "Schedule: at least 8 workers now. Since the start, it has cost $0.07 for 4,200.5 GB-seconds, and about 310"
                        + " requests did not wait for a worker's start.");
        functions = function("shop", members.formatted(0));
        browser.awaitText("#functions", "Schedule: no minimum now.");
        assertThat(browser.problems).isEmpty();
    }

    @Test
    void should_close_calm_functions_and_open_those_in_trouble() {
        String failing = "[9,0,0,1,1,0,0,2]";
        functions = function("calm", "") + "," + function("sick", "").replace("[]", "[" + failing + "]");
        show();
        browser.awaitText(
                "#functions", "calm", "sick", "the function answered 2 requests with 5xx, and the dispatcher failed 0");
        String open = "[...document.querySelectorAll('.function')].map(of => of.dataset.key + of.open).join()";
        assertThat(browser.evaluate(open)).isEqualTo("sicktrue,calmfalse");
        browser.awaitText("#overall", "2 functions", "1 in trouble", "0 + 2");

        // What somebody opens or closes stays so.
        browser.tabTo("[data-function=sick]");
        browser.press("Enter");
        browser.tabTo("[data-function=calm]");
        browser.press("Enter");
        awaitNextSecond();
        assertThat(browser.evaluate(open)).isEqualTo("sickfalse,calmtrue");
        assertThat(browser.problems).isEmpty();
    }

    @Test
    void should_show_where_the_time_goes_and_what_has_changed() {
        functions = function("shop", ",\"latencies\":[[131,400000,20000,90000,21000,480000]]");
        state = "\"workers\":[],\"requests\":[" + request("10.0.0.7", 1, "sent") + ","
                + request("10.0.0.7", 2, "sent") + "," + request("10.0.0.9", 3, "queued") + "],\"changes\":["
                + "{\"time\":\"" + Instant.now() + "\",\"kind\":\"launch_failed\",\"function\":\"shop\",\"count\":3,"
                + "\"text\":\"w-1: throttled\"}],";
        show();

        browser.awaitText(
                "#functions",
                "Clients get the first byte within 480 ms (p99); with workers it takes 90 ms, in the queue 400 ms");
        browser.awaitText("#functions figure", "Latency", "first byte p99 480 ms", "5 min ago", "now");
        assertThat(browser.evaluate("document.querySelector('#functions svg').ariaLabel"))
                .isEqualTo("Latency: first byte p99 now 480 ms, p50 now 21 ms, worker p99 now 90 ms, queue p99 now"
                        + " 400 ms. At most 480 ms in 5 minutes.");
        assertThat(browser.evaluate(
                        "String(document.querySelectorAll('#functions figure:first-child .mark.bad').length)"))
                .isEqualTo("1");
        browser.awaitText("#history", "3 launched workers failed of shop", "the latest: w-1: throttled");
        browser.awaitText("#client tr", "10.0.0.7", "100 %");
        browser.awaitText("#route tr", "GET /orders/:id", "100 %");
        assertThat(browser.problems).isEmpty();
    }

    private static String request(String client, int order, String state) {
        return "{\"ageMillis\":10,\"function\":\"shop\",\"state\":\"" + state
                + "\",\"method\":\"GET\",\"path\":\"/orders/"
                + order + "\",\"client\":\"" + client + ":5" + order + "\",\"protocol\":\"http_1\",\"attempts\":1,"
                + "\"requestBytes\":0,\"responseBytes\":0,\"unreadBytes\":0}";
    }

    /** Otherwise, one slow request would draw all others as a line at the bottom. */
    @Test
    void should_cut_outliers_of_latency_and_say_how_high_they_are() {
        String usual = "[131,1000,9000,20000,9000,21000],".repeat(59);
        functions = function("shop", ",\"latencies\":[" + usual + "[131,1000,9000,20000,9000,9000000]]");
        show();
        browser.awaitText("#functions figure:first-child .scale", "100 ms, at most 9 s");
        assertThat(browser.evaluate(
                        "document.querySelector('#functions figure:first-child .series').getAttribute('d')"))
                .as("the others are a fifth as high as the chart")
                .contains("L295 63.6L300 2.0");
    }

    /** A list with a scroll bar of its own hides what an operator looks for. */
    @Test
    void should_show_the_latest_changes_and_all_of_them_on_demand() {
        List<String> changes = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            changes.add("{\"time\":\"" + Instant.now() + "\",\"kind\":\"command\",\"count\":1,\"text\":\"POST /" + i
                    + "\"}");
        }
        state = "\"workers\":[],\"requests\":[],\"changes\":[" + String.join(",", changes) + "],";
        show();
        browser.awaitText("#history-more", "Show all 40");
        String count = "String(document.querySelectorAll('#history li').length)";
        assertThat(browser.evaluate(count)).isEqualTo("8");
        browser.tabTo("#history-more");
        browser.press("Enter");
        browser.awaitText("#history", "POST /39");
        assertThat(browser.evaluate(count)).isEqualTo("40");
        assertThat(browser.evaluate("const list = document.getElementById('history');"
                        + " String(list.scrollHeight <= list.clientHeight + 1)"))
                .isEqualTo("true");
    }

    @Test
    void should_count_what_fast_routes_have_done_that_are_never_seen_in_progress() {
        functions = function(
                "shop", ",\"routes\":[{\"name\":\"GET /ping\",\"perSecond\":412.5,\"p99\":2300,\"serverErrors\":7}]");
        show();
        browser.awaitText("#route tr", "GET /ping", "412.5/s", "2.3 ms", "7");
        browser.awaitText("#route-head", "Rate", "p99", "5xx");
    }

    @Test
    void should_say_for_how_long_cost_is_counted() {
        functions = function(
                "shop",
                ",\"gbSeconds\":9,\"gbSecondsLastHour\":9,\"dollarsLastHour\":0.1,\"dollars\":1,"
                        + "\"dollarsIfDirect\":2");
        show();
        browser.awaitText("#overall", "Lambda, in the last hour");
        started = Instant.now().minusSeconds(600).toString();
        browser.open(url());
        browser.awaitText("#overall", "Lambda, since the start");
        // What a dispatcher before this one has spent is remembered.
        functions = functions.replace("Hour\":9", "Hour\":500");
        browser.awaitText("#overall", "Lambda, in the last hour");
    }

    /** With {@code -Dit.programs -Djvm.flags=-Dlive.screenshots=DIRECTORY}, stores images there. */
    @ParameterizedTest
    @CsvSource({"1, false", "1, true", "500, false", "500, true"})
    void should_cut_nothing_off(int count, boolean incident) {
        makeUp(count, incident);
        show();
        for (int width : new int[] {420, 1440}) {
            for (boolean dark : new boolean[] {false, true}) {
                browser.look(width, width == 420 ? 3000 : 1500, dark);
                browser.awaitText("#workers", "ready");
                awaitNextSecond();
                String directory = System.getProperty("live.screenshots");
                if (directory != null) {
                    browser.screenshot(Path.of(
                            directory,
                            "state-" + width + "-" + count + (incident ? "-incident" : "-calm") + (dark ? "-dark" : "")
                                    + ".png"));
                }
                assertThat(browser.evaluate("String(document.documentElement.scrollWidth <= innerWidth)"))
                        .isEqualTo("true");
                assertThat(browser.evaluate("[...document.querySelectorAll('.scroll')].filter(of => of.scrollWidth"
                                + " > of.clientWidth).map(of => of.ariaLabel).join()"))
                        .as("tables that are wider than %d pixels", width)
                        .isEmpty();
            }
        }
        browser.look(420, 900, false);
        awaitNextSecond();
        assertThat(browser.evaluate("[...document.querySelectorAll('main td')].filter(of => of.offsetParent"
                        + " && of.getBoundingClientRect().right > innerWidth).map(of => of.textContent).join()"))
                .as("values that are cut")
                .isEmpty();
        assertThat(browser.problems).isEmpty();
    }

    /** Screen readers list the headings, and say the header of each cell. */
    @Test
    void should_leave_out_no_level_of_headings_and_name_each_column() {
        makeUp(2, true);
        show();
        browser.awaitText("#workers", "ready");
        assertThat(browser.evaluate("[...document.querySelectorAll('h1, h2, h3')].filter(of => of.offsetParent)"
                        + ".map(of => of.tagName).join(' ')"))
                .matches("H1( H2)+");
        assertThat(browser.evaluate("String(document.querySelectorAll('th:empty').length)"))
                .isEqualTo("0");
    }

    private void makeUp(int count, boolean incident) {
        StringBuilder history = new StringBuilder();
        StringBuilder latencies = new StringBuilder();
        for (int i = 0; i < 300; i++) {
            boolean bad = incident && i > 240;
            history.append(i == 0 ? "" : ",")
                    .append("[%d,%d,%d,%d,%d,1,2,%d]"
                            .formatted(
                                    40 + i % 7,
                                    bad ? 9 : 0,
                                    bad ? 120 : 0,
                                    bad ? 2 * count : count,
                                    count,
                                    bad ? 12 : 0));
            if (i % 5 == 0) {
                latencies
                        .append(i == 0 ? "" : ",")
                        .append("[131,%d,12000,48000,13000,%d]"
                                .formatted(bad ? 900000 : 900, bad ? 2_400_000 : 52_000));
            }
        }
        functions = "{\"name\":\"shop\",\"queued\":" + (incident ? 120 : 0)
                + (incident
                        ? ",\"waitReason\":\"max_workers\",\"waitDetail\":\"0 of 4 worker streams are free, and"
                                + " function.max-workers is reached\""
                        : "")
                + ",\"streams\":" + 2 * count + ",\"streamsFree\":" + (incident ? 0 : count) + ",\"workersReady\":"
                + count
                + ",\"workersReadyBase\":1,\"workersConnected\":" + count + ",\"workersDesired\":" + count
                + ",\"workersStarting\":0,\"workersDraining\":0,\"workersEjected\":" + (incident ? 1 : 0)
                + ",\"launchesInLastMinute\":3,\"gbSeconds\":5400.5,\"gbSecondsLastHour\":1800.2,\"dollars\":0.09,"
                + "\"dollarsLastHour\":0.03,\"dollarsIfDirect\":0.41,\"history\":[" + history + "],\"latencies\":["
                + latencies + "],\"routes\":[{\"name\":\"GET /orders/:id\",\"perSecond\":31.5,\"p99\":52000,"
                + "\"serverErrors\":" + (incident ? 240 : 0)
                + "},{\"name\":\"POST /carts/:id/items\",\"perSecond\":9.1,"
                + "\"p99\":210000,\"serverErrors\":0}]}";
        List<String> workers = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            boolean ejected = incident && i == 1;
            workers.add(worker(
                    "123e4567-e89b-12d3-a456-4266141" + (74000 + i),
                    ejected ? "ejected" : "ready",
                    ",\"launched\":" + (i > 0) + ",\"version\":\"42\",\"zone\":\"use1-az1\",\"ageSeconds\":" + (300 + i)
                            + ",\"secondsToDeadline\":500,\"limit\":2,\"cpu\":0.31,\"heap\":0.4,\"loopLagMillis\":3,"
                            + "\"address\":\"10.0.12." + i % 250
                            + ":53122\",\"logStream\":\"2026/11/29/[42]abcdef0123456789\""
                            + (ejected
                                    ? ",\"ejected\":\"5 of its 5 requests failed, and 0 of 90 of the other workers\""
                                    : "")));
        }
        List<String> requests = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            requests.add(request("10.0.0." + i, i, incident && i > 2 ? "queued" : "sent"));
        }
        String now = Instant.now().toString();
        List<String> changes = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            changes.add("{\"time\":\"" + now + "\",\"kind\":\"" + (incident && i < 2 ? "incident" : "launch")
                    + "\",\"function\":\"shop\",\"count\":1,\"text\":\"123e4567-e89b-12d3-a456-426614174000: for the"
                    + " requests that wait\"}");
        }
        state = "\"workers\":[" + String.join(",", workers) + "],\"requests\":[" + String.join(",", requests)
                + "],\"changes\":[" + String.join(",", changes) + "],"
                + (incident
                        ? "\"incidents\":[{\"since\":\"" + now + "\",\"what\":\"requests of function shop are refused"
                                + " (queue_full)\",\"cause\":\"request 5f0c: the queue has its maximum of 1000 requests\"}],"
                        : "");
    }

    @Test
    void should_ask_for_a_token_before_a_worker_is_drained_from_its_row() {
        state = "\"workers\":[" + worker("w-1", "ready", "") + "],\"requests\":[],";
        show();
        browser.tabTo("#workers [data-do=drain]");
        assertThat(browser.focused()).isEqualTo("button Drain worker w-1");
        browser.press("Enter");
        browser.awaitText("#change-result", "Enter a token first.");
        assertThat(browser.focused()).isEqualTo("textbox Token");

        browser.type(Rig.SECRET);
        browser.press("Enter");
        browser.evaluate("document.querySelector('#workers [data-do=drain]').click(); ''");
        browser.awaitText("#confirm", "Drain worker w-1 of function shop?");
    }

    /** The page has the shape of what will be there, so nothing jumps. */
    @Test
    void should_show_a_skeleton_until_the_state_is_known() {
        starting = true;
        show();
        browser.awaitText("#connection", "the dispatcher is starting");
        assertThat(browser.evaluate("String(document.querySelector('.skeleton').offsetHeight > 100)"))
                .isEqualTo("true");
        starting = false;
        browser.awaitText("#functions", "shop");
        assertThat(browser.evaluate("String(document.querySelector('.skeleton'))"))
                .isEqualTo("null");
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

    /** The page tries again 5 s after the end of a stream, unless it has another one by then. */
    @Test
    void should_have_one_stream_after_a_token_is_entered() throws Exception {
        show();
        browser.awaitText("#connection", "Live");
        int port = server.address().getPort();
        server.close();
        browser.awaitText("#connection", "does not answer");
        browser.evaluate("window.streams = 0; window.fetched = window.fetch; window.fetch = (path, ...more) =>"
                + " { if (path === 'events') streams++; return fetched(path, ...more); }; ''");
        server = serve(port);
        browser.evaluate("document.getElementById('token').value = '" + Rig.SECRET
                + "'; document.getElementById('token-form').requestSubmit(); ''");
        browser.awaitText("#connection", "Live");

        Await.remains(
                "there is one stream",
                Duration.ofSeconds(6),
                () -> browser.evaluate("String(streams)").equals("1"));
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
