package io.lambdadispatcher.server.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.observe.RolloutSnapshot;
import io.lambdadispatcher.core.observe.WorkerCommandResult;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.observe.WorkerSnapshot.State;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.core.spi.FilterCommand;
import io.lambdadispatcher.server.status.AdminRequest;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

@EachRelease
class AdminServerTest {
    private static final String TOKEN = "the-second-admin-token";

    private final HttpClient client = HttpClient.newHttpClient();
    private final Readiness readiness = new Readiness();
    private final Launching launching = new Launching();
    private final WorkerControl workers = new WorkerControl();
    private final List<String> switched = new ArrayList<>();
    private final Queue<Protection> protections = new ConcurrentLinkedQueue<>();
    private final CountDownLatch rendering = new CountDownLatch(1);
    private final CountDownLatch mayRender = new CountDownLatch(1);
    private boolean slowMetrics;
    private volatile RuntimeException failure;
    private volatile CountDownLatch waiting = new CountDownLatch(0);
    private TlsOptions.@Nullable Contents tls;
    private AdminServer server;

    private String metrics() {
        try {
            rendering.countDown();
            if (slowMetrics) {
                mayRender.await();
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        return "a_metric 1\n";
    }

    private byte[] document(String name) {
        try {
            waiting.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        if (failure != null) {
            throw failure;
        }
        return ("{\"document\":\"" + name + "\"}").getBytes(StandardCharsets.US_ASCII);
    }

    private AdminServer serve(Launching switches) throws IOException {
        return new AdminServer(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                new AdminPages(readiness, switches, workers, new Settings(), this::metrics, this::document),
                new AdminAccess(
                        Set.of(),
                        List.of(
                                "the-first-admin-token".getBytes(StandardCharsets.US_ASCII),
                                TOKEN.getBytes(StandardCharsets.US_ASCII)),
                        List.of()),
                tls,
                protections::add);
    }

    @BeforeEach
    void open() throws IOException {
        server = serve(launching);
        launching.of(
                () -> List.of(
                        new CapacitySnapshot(
                                "a",
                                3,
                                1,
                                2,
                                0,
                                4,
                                12.3,
                                45.6,
                                null,
                                null,
                                null,
                                new RolloutSnapshot(RolloutSnapshot.State.WATCHING, "7", "8", 10, 1, ""),
                                null),
                        new CapacitySnapshot(
                                "b", 5, 0, 0, 0, 9, 0, 0, null, null, null, null, "circuit open, the last failure: x")),
                (function, on) -> switched.add(function + " " + on));
        launching.rollouts((function, on) -> switched.add("rollout of " + function + " " + on));
        workers.of(new Shop());
    }

    /** Takes weights from 0 to 9, and the levels info and debug. */
    private static final class Settings implements LiveSettings {
        @Override
        public Map<String, Integer> setWeights(Map<String, String> weights) {
            if (weights.containsKey("closing")) {
                throw new IllegalStateException("the dispatcher is closing");
            }
            if (!weights.values().stream().allMatch(weight -> weight.matches("\\d"))) {
                throw new IllegalArgumentException("expected a weight");
            }
            return weights.entrySet().stream()
                    .collect(Collectors.toMap(Map.Entry::getKey, each -> Integer.valueOf(each.getValue())));
        }

        @Override
        public List<FilterCommand> filterCommands() {
            return List.of(new FilterCommand("cache clear", "Clears.", "Always.", "bytes", "bytes", filter -> 1));
        }

        @Override
        public long tellFilter(FilterCommand command) {
            return command.name().equals("cache clear") ? 4096 : 0;
        }

        @Override
        public String setLogLevel(String level) {
            if (!List.of("info", "debug").contains(level)) {
                throw new IllegalArgumentException("expected a level");
            }
            return level;
        }
    }

    @Test
    void should_set_weights_and_the_log_level() throws Exception {
        HttpResponse<String> weights = call("POST", "/api/weights?a%26b=7");
        assertThat(weights.statusCode()).isEqualTo(200);
        assertThat(weights.body()).isEqualTo("{\"weights\":{\"a&b\":7}}");
        assertThat(call("POST", "/api/log-level?to=debug").body()).isEqualTo("{\"level\":\"debug\"}");
        assertThat(call("POST", "/api/cache/clear").body()).isEqualTo("{\"bytes\":4096}");
    }

    @Test
    void should_tell_of_accepted_commands_and_who_has_sent_them() throws Exception {
        List<String> told = new CopyOnWriteArrayList<>();
        server.observeChanges(told::add);
        call("POST", "/api/log-level?to=x");
        call("GET", "/launching");
        call("POST", "/api/log-level?to=debug");

        assertThat(told)
                .singleElement()
                .asString()
                .matches("POST /api/log-level\\?to=debug from 127\\.0\\.0\\.1 port \\d+ with token 2");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "400 | /api/weights             | expected functions and their weights, such as ?shop=95&shop-next=5, got none",
                "400 | /api/weights?a=x         | expected a weight",
                "400 | /api/weights?a=1&a=2     | expected the parameter a once, got it twice",
                "503 | /api/weights?closing=1   | the dispatcher is closing",
                "400 | /api/cache/clear?all=1   | expected no parameters, got 'all'",
                "400 | /api/log-level           | to: missing, expected a level such as debug",
                "400 | /api/log-level?to=x      | expected a level",
                "400 | /api/log-level?level=info | expected the parameter to, got 'level'"
            })
    void should_say_why_a_setting_is_not_changed(int status, String target, String message) throws Exception {
        HttpResponse<String> answer = call("POST", target);

        assertThat(answer.body()).isEqualTo(message + "\n");
        assertThat(answer.statusCode()).isEqualTo(status);
    }

    @Test
    void should_stop_a_change_to_another_version() throws Exception {
        assertThat(call("POST", "/api/rollout?to=stop&function=a").body())
                .isEqualTo("{\"function\":\"a\",\"to\":\"stop\"}");
        assertThat(switched).containsExactly("rollout of a false");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "400 | /api/rollout?function=a           | to: missing, expected stop or resume",
                "400 | /api/rollout?to=stop              | function: missing, expected one of [a, b]",
                "400 | /api/rollout?to=stop&function=c   | function: 'c', expected one of [a, b]",
                "409 | /api/rollout?to=resume&function=a | function a has no change to resume: watching",
                "409 | /api/rollout?to=stop&function=b   | function b has no change to stop: its version is not watched"
            })
    void should_say_why_a_change_is_not_steered(int status, String target, String message) throws Exception {
        HttpResponse<String> answer = call("POST", target);

        assertThat(answer.body()).isEqualTo(message + "\n");
        assertThat(answer.statusCode()).isEqualTo(status);
        assertThat(switched).isEmpty();
    }

    /** Two functions with four workers, which obey unless they drain. */
    private static final class Shop implements WorkerControl.Workers {
        private final List<WorkerSnapshot> all = List.of(
                worker("shop", "w1", State.READY, "41"),
                worker("shop", "w2", State.READY, "42"),
                worker("shop", "w3", State.DRAINING, "42"),
                worker("images", "i1", State.READY, ""));

        private static WorkerSnapshot worker(String function, String id, State state, String version) {
            return new WorkerSnapshot(
                    function,
                    id,
                    state,
                    true,
                    null,
                    Instant.EPOCH,
                    null,
                    1,
                    1,
                    0,
                    1,
                    0,
                    0,
                    null,
                    null,
                    version,
                    "",
                    "",
                    "",
                    "");
        }

        @Override
        public List<String> functions() {
            return List.of("shop", "images", "idle");
        }

        @Override
        public CompletionStage<List<WorkerSnapshot>> all() {
            return CompletableFuture.completedStage(all);
        }

        @Override
        public CompletionStage<List<WorkerCommandResult>> drain(Predicate<WorkerSnapshot> which) {
            return CompletableFuture.completedStage(all.stream()
                    .filter(which)
                    .map(worker -> new WorkerCommandResult(
                            worker,
                            worker.state() == State.DRAINING
                                    ? WorkerCommandResult.Outcome.DRAINS_ALREADY
                                    : WorkerCommandResult.Outcome.DONE))
                    .toList());
        }

        @Override
        public CompletionStage<List<WorkerCommandResult>> recycle(Predicate<WorkerSnapshot> which) {
            return CompletableFuture.completedStage(all.stream()
                    .filter(which)
                    .map(worker -> new WorkerCommandResult(worker, WorkerCommandResult.Outcome.NOT_LAUNCHED_HERE))
                    .toList());
        }
    }

    private static String outcome(String function, String id, String version, String outcome) {
        return "{\"id\":\"" + id + "\",\"function\":\"" + function + "\","
                + (version.isEmpty() ? "" : "\"version\":\"" + version + "\",") + "\"outcome\":\"" + outcome + "\"}";
    }

    private static String outcomes(String... each) {
        return "{\"workers\":[" + String.join(",", each) + "]}";
    }

    @Test
    void should_drain_one_worker_those_of_a_version_or_all_of_a_function() throws Exception {
        HttpResponse<String> one = call("POST", "/api/workers/drain?worker=i1");
        assertThat(one.statusCode()).isEqualTo(200);
        assertThat(one.headers().firstValue("content-type")).hasValue("application/json");
        assertThat(one.body()).isEqualTo(outcomes(outcome("images", "i1", "", "done")));
        assertThat(call("POST", "/api/workers/drain?function=shop&version=42").body())
                .isEqualTo(
                        outcomes(outcome("shop", "w2", "42", "done"), outcome("shop", "w3", "42", "drains_already")));
        assertThat(call("POST", "/api/workers/drain?function=shop").body())
                .contains("\"w1\"", "\"w2\"", "\"w3\"")
                .doesNotContain("\"i1\"");
        assertThat(call("POST", "/api/workers/drain?function=idle").body()).isEqualTo(outcomes());
        assertThat(call("POST", "/api/workers/recycle?worker=w1").body())
                .isEqualTo(outcomes(outcome("shop", "w1", "41", "not_launched_here")));
    }

    @Test
    void should_accept_the_beginning_of_an_id() throws Exception {
        assertThat(call("POST", "/api/workers/drain?worker=i").body())
                .isEqualTo(outcomes(outcome("images", "i1", "", "done")));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "400 | ''                        | worker: missing, expected the id of a worker, or the parameter function",
                "400 | ?version=41               | worker: missing, expected the id of a worker, or the parameter function",
                "400 | ?worker=w1&function=shop  | worker: 'w1', expected no other parameter beside it",
                "400 | ?worker=w1&worker=w2      | expected the parameter worker once, got it twice",
                "400 | ?id=w1                    | expected the parameters worker, function, version, got 'id'",
                "400 | ?worker=w                | worker: 'w', expected the beginning of one id, got that of 3: w1, w2, w3",
                "404 | ?worker=w%209             | worker: 'w 9', expected the id of a worker that GET /api/workers shows",
                "404 | ?function=shoe            | function: 'shoe', expected one of [shop, images, idle]",
                "404 | ?function=shop&version=40 | version: '40', expected a version that a worker has: [41, 42]"
            })
    void should_say_which_workers_it_does_not_have(int status, String query, String message) throws Exception {
        for (String command : List.of("drain", "recycle")) {
            HttpResponse<String> answer = call("POST", "/api/workers/" + command + query);
            assertThat(answer.body()).isEqualTo(message + "\n");
            assertThat(answer.statusCode()).isEqualTo(status);
        }
    }

    @Test
    void should_only_change_something_where_nothing_is_shown() throws Exception {
        HttpResponse<String> get = call("GET", "/api/workers/drain?worker=w1");

        assertThat(get.statusCode()).isEqualTo(405);
        assertThat(get.headers().firstValue("allow")).hasValue("POST");
    }

    @AfterEach
    void close() {
        mayRender.countDown();
        server.close();
    }

    private URI uri(String path) {
        return URI.create("http://127.0.0.1:" + server.address().getPort() + path);
    }

    private HttpResponse<String> call(String method, String path) throws Exception {
        return client.send(
                HttpRequest.newBuilder(uri(path))
                        .header("authorization", "Bearer " + TOKEN)
                        .method(method, BodyPublishers.noBody())
                        .build(),
                BodyHandlers.ofString());
    }

    @Test
    void should_be_live_from_the_start() throws Exception {
        HttpResponse<String> response = call("GET", "/health");

        assertThat(response.statusCode()).isEqualTo(200);
        assertThat(response.body()).isEqualTo("live\n");
    }

    @Test
    void should_say_why_it_is_not_ready() throws Exception {
        AtomicBoolean ready = new AtomicBoolean();
        assertThat(call("GET", "/ready").body()).isEqualTo("starting\n");

        readiness.serving(
                ready::get,
                () -> List.of(
                        new PoolSnapshot("a", 1, 1, 0, 0, 50, 50, 0), new PoolSnapshot("b", 2, 1, 0, 0, 50, 50, 0)),
                () -> List.of(
                        new CapacitySnapshot("a", 1, 0, 1, 0, 1, 0, 0, null, null, null, null, "backing off"),
                        new CapacitySnapshot("b", 3, 0, 1, 0, 9, 0, 0, null, null, null, null, "circuit open")),
                Map.of("a", 1, "b", 3, "c", 1));
        assertThat(call("GET", "/ready").statusCode()).isEqualTo(503);
        assertThat(call("GET", "/ready").body())
                .isEqualTo("function b has 1 of 3 workers ready (circuit open), function c has 0 of 1 workers ready\n");

        ready.set(true);
        assertThat(call("GET", "/ready").statusCode()).isEqualTo(200);
        assertThat(call("GET", "/ready").body()).isEqualTo("ready\n");

        readiness.shuttingDown();
        assertThat(call("GET", "/ready").statusCode()).isEqualTo(503);
        assertThat(call("GET", "/ready").body()).isEqualTo("shutting down\n");
        assertThat(call("GET", "/health").statusCode()).isEqualTo(200);
    }

    /** A platform that replaces what fails must not replace a dispatcher without workers. */
    @Test
    void should_have_started_from_the_first_time_that_it_is_ready() throws Exception {
        AtomicBoolean ready = new AtomicBoolean();
        assertThat(call("GET", "/started").body()).isEqualTo("starting\n");

        readiness.serving(ready::get, List::of, List::of, Map.of("a", 1));
        assertThat(call("GET", "/started").statusCode()).isEqualTo(503);
        assertThat(call("GET", "/started").body()).isEqualTo("function a has 0 of 1 workers ready\n");

        ready.set(true);
        assertThat(call("GET", "/started").statusCode()).isEqualTo(200);
        assertThat(call("GET", "/started").body()).isEqualTo("started\n");

        ready.set(false);
        assertThat(call("GET", "/ready").statusCode()).isEqualTo(503);
        assertThat(call("GET", "/started").statusCode()).isEqualTo(200);

        readiness.shuttingDown();
        assertThat(call("GET", "/started").statusCode()).isEqualTo(503);
        assertThat(call("GET", "/started").body()).isEqualTo("shutting down\n");
    }

    @Test
    void should_show_how_launching_stands() throws Exception {
        assertThat(call("GET", "/launching").body())
                .contains("a: 3 desired, 1 starting, 2 ready")
                .contains("12 GB-s in the last hour, 46 GB-s in all: launching")
                .contains("b: 5 desired")
                .contains("circuit open, the last failure: x");
    }

    @Test
    void should_switch_launching_off_and_on() throws Exception {
        HttpResponse<String> off = call("POST", "/launching?to=off");
        assertThat(off.statusCode()).isEqualTo(200);
        assertThat(off.body())
                .as("what it knows is from before")
                .isEqualTo("The change is accepted. GET /launching shows it in a moment.\n");
        assertThat(call("POST", "/launching?function=b&to=on").statusCode()).isEqualTo(200);

        assertThat(switched).containsExactly("a false", "b false", "b true");
    }

    @Test
    void should_name_what_is_wrong_with_a_switch() throws Exception {
        assertThat(call("POST", "/launching").statusCode()).isEqualTo(400);
        assertThat(call("POST", "/launching?to=maybe").body()).isEqualTo("to: 'maybe', expected on or off\n");
        assertThat(call("POST", "/launching?to=off&function=c").body())
                .isEqualTo("function: 'c', expected one of [a, b]\n");
        assertThat(switched).isEmpty();
    }

    @Test
    void should_switch_nothing_while_the_dispatcher_is_starting() throws Exception {
        server.close();
        server = serve(new Launching());

        for (HttpResponse<String> answer : List.of(
                call("POST", "/launching?to=off"),
                call("POST", "/api/rollout?to=stop&function=a"),
                call("GET", "/launching"))) {
            assertThat(answer.body()).isEqualTo("the dispatcher is starting\n");
            assertThat(answer.statusCode()).isEqualTo(503);
        }
    }

    @Test
    void should_refuse_to_switch_launching_if_nothing_is_launched() throws Exception {
        launching.of(List::of, (function, on) -> switched.add(function + " " + on));

        HttpResponse<String> off = call("POST", "/launching?to=off");

        assertThat(off.body())
                .isEqualTo("this dispatcher launches no workers, so launching cannot be switched on or off\n");
        assertThat(off.statusCode()).isEqualTo(409);
    }

    @Test
    void should_switch_nothing_on_a_path_that_only_begins_so() throws Exception {
        assertThat(call("POST", "/launching/a?to=off").statusCode()).isEqualTo(404);
        assertThat(call("POST", "/launchings?to=off").statusCode()).isEqualTo(404);
        assertThat(call("PUT", "/launching?to=off").headers().firstValue("allow"))
                .hasValue("GET, HEAD, POST");

        assertThat(switched).isEmpty();
    }

    @Test
    void should_take_any_name_of_a_function_in_percent_encoding() throws Exception {
        assertThat(call("POST", "/launching?to=off&function=%61").statusCode()).isEqualTo(200);
        assertThat(call("POST", "/launching?to=off&function=a%26to=on").body())
                .isEqualTo("function: 'a&to=on', expected one of [a, b]\n");

        assertThat(switched).containsExactly("a false");
    }

    @Test
    void should_show_metrics_in_prometheus_format() throws Exception {
        HttpResponse<String> response = call("GET", "/metrics");

        assertThat(response.body()).isEqualTo("a_metric 1\n");
        assertThat(response.headers().firstValue("content-type")).hasValue("text/plain; version=0.0.4; charset=utf-8");
    }

    @Test
    void should_serve_the_live_page_which_loads_nothing_from_elsewhere() throws Exception {
        HttpResponse<String> page = call("GET", "/");

        assertThat(page.headers().firstValue("content-type")).contains("text/html; charset=utf-8");
        assertThat(page.headers().firstValue("content-security-policy").orElseThrow())
                .startsWith("default-src 'none'; script-src 'self'");
        assertThat(page.body())
                .contains("<script type=\"module\" src=\"live.js\"")
                .doesNotContain("http:", "https:");
        assertThat(call("GET", "/live.js").body()).contains("fetch(\"events\"");
        assertThat(call("GET", "/live.css").headers().firstValue("content-type"))
                .contains("text/css; charset=utf-8");
    }

    @Test
    void should_serve_documents_as_json_or_say_why_not() throws Exception {
        HttpResponse<String> workers = call("GET", "/api/workers");
        assertThat(workers.headers().firstValue("content-type")).contains("application/json");
        assertThat(workers.body()).isEqualTo("{\"document\":\"workers\"}");

        failure = new IllegalStateException("an event loop has not answered within 2 s");
        assertThat(call("GET", "/api/workers").statusCode()).isEqualTo(503);
        assertThat(call("GET", "/api/workers").body()).isEqualTo("an event loop has not answered within 2 s\n");
        assertThat(call("GET", "/api/nothing").statusCode()).isEqualTo(404);
    }

    @ParameterizedTest
    @MethodSource
    void should_send_an_event_each_second_also_when_there_is_no_state(RuntimeException reason, String text)
            throws Exception {
        try (BufferedReader events = new BufferedReader(new InputStreamReader(
                client.send(HttpRequest.newBuilder(uri("/events")).build(), BodyHandlers.ofInputStream())
                        .body(),
                StandardCharsets.UTF_8))) {
            assertThat(events.readLine()).isEqualTo("data: {\"document\":\"live\"}");
            failure = reason;
            String line = events.readLine();
            while (line.isEmpty() || line.startsWith("data: {")) {
                line = events.readLine();
            }
            assertThat(line).isEqualTo("event: problem");
            assertThat(events.readLine()).isEqualTo("data: " + text);
            assertThat(events.readLine()).isEmpty();
            assertThat(events.readLine()).isEqualTo("event: problem");
        }
    }

    static Stream<Arguments> should_send_an_event_each_second_also_when_there_is_no_state() {
        return Stream.of(
                Arguments.of(new IllegalStateException("the dispatcher is starting"), "the dispatcher is starting"),
                Arguments.of(
                        new NullPointerException("x"),
                        "The state cannot be read. See the dispatcher's log for the reason."));
    }

    /** The server writes nothing, because the first event is not there yet. */
    @Test
    void should_notice_that_a_viewer_has_left_before_it_writes_to_it() throws Exception {
        CountDownLatch mayContinue = new CountDownLatch(1);
        waiting = mayContinue;
        try {
            for (int i = 0; i < AdminConnections.MAX_STREAMS; i++) {
                client.send(HttpRequest.newBuilder(uri("/events")).build(), BodyHandlers.ofInputStream())
                        .body()
                        .close();
            }
            awaitRoomForViewer();
        } finally {
            mayContinue.countDown();
        }
    }

    private void awaitRoomForViewer() {
        Await.until("there is room for a viewer", () -> {
            HttpResponse<InputStream> next =
                    client.send(HttpRequest.newBuilder(uri("/events")).build(), BodyHandlers.ofInputStream());
            next.body().close();
            return next.statusCode() == 200;
        });
    }

    private HttpResponse<InputStream> view(String token) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(uri("/events"));
        if (!token.isEmpty()) {
            request.header("authorization", "Bearer " + token);
        }
        return client.send(request.build(), BodyHandlers.ofInputStream());
    }

    private static void awaitEnd(InputStream viewer) {
        Await.until("the viewer's connection is closed", () -> {
            try {
                return viewer.skip(1 << 20) == 0 && viewer.read() < 0;
            } catch (IOException e) {
                return true;
            }
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "the-first-admin-token"})
    void should_end_the_events_of_a_viewer_who_may_not_read_any_more(String token) throws Exception {
        InputStream refused = view(token).body();
        InputStream known = view(TOKEN).body();
        assertThat(refused.read()).isEqualTo('d');
        assertThat(known.read()).isEqualTo('d');

        byte[] valid = TOKEN.getBytes(StandardCharsets.US_ASCII);
        server.setAccess(new AdminAccess(
                Set.of(), List.of(valid), List.of("a-token-to-read".getBytes(StandardCharsets.US_ASCII))));

        assertThat(endsWithin(refused, 12)).isTrue();
        BufferedReader events = new BufferedReader(new InputStreamReader(known, StandardCharsets.UTF_8));
        for (int i = 0; i < 6; i++) {
            assertThat(events.readLine()).as("of a token that is still valid").isNotNull();
        }
        known.close();
    }

    private static boolean endsWithin(InputStream viewer, int lines) {
        BufferedReader events = new BufferedReader(new InputStreamReader(viewer, StandardCharsets.UTF_8));
        try {
            for (int i = 0; i < lines; i++) {
                if (events.readLine() == null) {
                    return true;
                }
            }
            return false;
        } catch (IOException e) {
            return true;
        }
    }

    /** Otherwise, anybody could keep the operator from the live page. */
    @Test
    void should_give_the_place_of_an_old_viewer_to_a_newer_one() throws Exception {
        List<InputStream> viewers = new ArrayList<>();
        for (int i = 0; i < AdminConnections.MAX_STREAMS; i++) {
            viewers.add(view("").body());
        }
        HttpResponse<InputStream> newer = view("");

        assertThat(newer.statusCode()).isEqualTo(200);
        awaitEnd(viewers.get(0));
        assertThat(viewers.get(1).read()).isEqualTo('d');
        newer.body().close();
        for (InputStream viewer : viewers) {
            viewer.close();
        }
    }

    @Test
    void should_close_no_viewer_with_a_token_for_one_without() throws Exception {
        InputStream operator = view(TOKEN).body();
        assertThat(operator.read()).isEqualTo('d');
        List<InputStream> viewers = new ArrayList<>();
        for (int i = 0; i < 3 * AdminConnections.MAX_STREAMS; i++) {
            HttpResponse<InputStream> viewer = view("");
            assertThat(viewer.statusCode()).isEqualTo(200);
            viewers.add(viewer.body());
        }
        awaitEnd(viewers.get(0));
        BufferedReader events = new BufferedReader(new InputStreamReader(operator, StandardCharsets.UTF_8));
        assertThat(events.readLine()).startsWith("ata: ");
        assertThat(events.readLine()).isEmpty();
        assertThat(events.readLine()).as("a later event").startsWith("data: ");
        for (int i = 1; i < AdminConnections.MAX_STREAMS; i++) {
            assertThat(view(TOKEN).statusCode()).isEqualTo(200);
        }
        assertThat(view("").statusCode()).as("all places have a token").isEqualTo(503);
        assertThat(view(TOKEN).statusCode()).isEqualTo(200);
    }

    /** The tokens that are tried are wrong, on many connections. The right one works meanwhile. */
    @Test
    void should_slow_down_who_tries_tokens_and_not_who_has_one() throws Exception {
        Queue<String> lines = new ConcurrentLinkedQueue<>();
        AtomicBoolean enough = new AtomicBoolean();
        AtomicInteger refused = new AtomicInteger();
        List<Thread> guessers = new ArrayList<>();
        try (LogLines audit = new LogLines(lines)) {
            for (int i = 0; i < 16; i++) {
                Thread guesser = new Thread(() -> {
                    while (!enough.get()) {
                        try {
                            changeWith("authorization", "Bearer a-wrong-admin-token", "/launching?to=on");
                            refused.incrementAndGet();
                        } catch (Exception e) {
                            throw new AssertionError(e);
                        }
                    }
                });
                guesser.start();
                guessers.add(guesser);
            }
            Await.until("some guesses are refused", () -> refused.get() >= 16);
            long began = System.nanoTime();
            assertThat(changeWith("authorization", "Bearer " + TOKEN, "/launching?to=on")
                            .statusCode())
                    .isEqualTo(200);
            assertThat(System.nanoTime() - began).isLessThan(TimeUnit.SECONDS.toNanos(3));
            Await.until("more guesses are refused", () -> refused.get() >= 20);
            enough.set(true);
            for (Thread guesser : guessers) {
                guesser.join();
            }
        }
        long told = lines.stream()
                .filter(line -> line.contains("without a valid token"))
                .count();
        assertThat(told).isBetween(1L, refused.get() - 1L);
    }

    /** A flood of guesses must not hide other lines, nor fill the disk. */
    @Test
    void should_log_only_some_refused_attempts_and_say_how_many_there_were() {
        Queue<String> lines = new ConcurrentLinkedQueue<>();
        Audit audit = new Audit();
        Random random = new Random(1);
        long now = System.nanoTime();
        long seconds = 0;
        int attempts = 0;
        try (LogLines log = new LogLines(lines)) {
            for (; seconds < 600; seconds++) {
                for (int i = random.nextInt(50); i > 0; i--) {
                    FullHttpResponse answer = AdminAnswers.text(HttpResponseStatus.UNAUTHORIZED, "no");
                    audit.refused(
                            new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, "/launching"),
                            new InetSocketAddress("127.0.0.1", 7),
                            0,
                            answer,
                            now + TimeUnit.SECONDS.toNanos(seconds));
                    attempts++;
                }
            }
            audit.tellLeftOut();
        }
        int told = 0;
        for (String line : lines) {
            told += line.contains("more refused") ? Integer.parseInt(line.replaceFirst("\\D+(\\d+) more.*", "$1")) : 1;
        }
        assertThat(told).isEqualTo(attempts).isGreaterThan(10_000);
        assertThat(lines.size()).isLessThan(2 * (Audit.MAX_REFUSED_LINES + 600 / 3) + 2);
    }

    /** Collects the lines of the audit log until it is closed. */
    private static final class LogLines implements AutoCloseable {
        private final Logger logger = (Logger) LoggerFactory.getLogger(Audit.LOGGER);
        private final AppenderBase<ILoggingEvent> appender;

        LogLines(Queue<String> lines) {
            appender = new AppenderBase<>() {
                @Override
                protected void append(ILoggingEvent event) {
                    lines.add(event.getLevel() + " " + event.getFormattedMessage());
                }
            };
            appender.start();
            logger.addAppender(appender);
        }

        @Override
        public void close() {
            logger.detachAppender(appender);
        }
    }

    @Test
    void should_serve_with_tls_and_replace_the_certificate() throws Exception {
        server.close();
        X509Bundle first = selfSigned();
        X509Bundle second = selfSigned();
        tls = new TlsOptions.Contents(
                List.of(first.getCertificate()), first.getKeyPair().getPrivate(), List.of());
        server = serve(launching);

        assertThat(healthTrusting(first)).isEqualTo("live\n");
        assertThatThrownBy(() -> healthTrusting(second)).hasMessageContaining("--ca-file");
        server.setTls(AdminServer.context(new TlsOptions.Contents(
                List.of(second.getCertificate()), second.getKeyPair().getPrivate(), List.of())));
        assertThat(healthTrusting(second)).isEqualTo("live\n");
        assertThatThrownBy(() -> call("GET", "/health")).as("without TLS").isInstanceOf(IOException.class);
    }

    private static X509Bundle selfSigned() throws Exception {
        return new CertificateBuilder()
                .subject("CN=admin")
                .setIsCertificateAuthority(true)
                .addSanIpAddress("127.0.0.1")
                .buildSelfSigned();
    }

    private String healthTrusting(X509Bundle trusted) throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        store.setCertificateEntry("a", trusted.getCertificate());
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, factory.getTrustManagers(), null);
        URI secure = URI.create("https://127.0.0.1:" + server.address().getPort() + "/health");
        return new String(
                new AdminRequest(context, null)
                        .send(HttpRequest.newBuilder(secure))
                        .body(),
                StandardCharsets.UTF_8);
    }

    @Test
    void should_answer_head_without_a_body() throws Exception {
        HttpResponse<String> response = call("HEAD", "/ready");

        assertThat(response.statusCode()).isEqualTo(503);
        assertThat(response.body()).isEmpty();
    }

    @Test
    void should_refuse_other_paths_and_methods() throws Exception {
        assertThat(call("GET", "/healthy").statusCode()).isEqualTo(404);
        assertThat(call("GET", "/health/x").statusCode()).isEqualTo(404);
        HttpResponse<String> post = call("POST", "/ready");
        assertThat(post.statusCode()).isEqualTo(405);
        assertThat(post.headers().firstValue("allow")).hasValue("GET, HEAD");
    }

    /** A page can send this request to 127.0.0.1, and the browser says where the page is from. */
    @Test
    void should_not_let_a_page_in_a_browser_switch_launching_off() throws Exception {
        HttpRequest request = HttpRequest.newBuilder(uri("/launching?to=off"))
                .header("origin", "https://evil.example")
                .POST(BodyPublishers.noBody())
                .build();

        assertThat(client.send(request, BodyHandlers.ofString()).statusCode()).isEqualTo(403);
        assertThat(switched).isEmpty();
        assertThat(protections).containsExactly(Protection.ADMIN_REFUSED);
    }

    @Test
    void should_answer_while_other_clients_send_slowly() throws Exception {
        List<Socket> slow = new ArrayList<>();
        try {
            for (int i = 0; i < 2 * AdminConnections.MAX_CONNECTIONS; i++) {
                Socket socket = new Socket(
                        InetAddress.getLoopbackAddress(), server.address().getPort());
                socket.getOutputStream().write("GET /health HTTP/1.1\r\nhost:".getBytes(StandardCharsets.US_ASCII));
                slow.add(socket);
            }
            assertThat(call("GET", "/health").statusCode()).isEqualTo(200);
            assertThat(call("GET", "/ready").statusCode()).isEqualTo(503);
            assertThat(slow.get(0).getInputStream().read())
                    .as("the oldest connection is closed to make room")
                    .isEqualTo(-1);
        } finally {
            for (Socket socket : slow) {
                socket.close();
            }
        }
    }

    @Test
    void should_answer_everything_else_while_metrics_are_rendered() throws Exception {
        slowMetrics = true;
        CompletableFuture<HttpResponse<String>> scrape =
                client.sendAsync(HttpRequest.newBuilder(uri("/metrics")).build(), BodyHandlers.ofString());
        rendering.await();

        assertThat(call("GET", "/health").statusCode()).isEqualTo(200);
        assertThat(call("GET", "/ready").statusCode()).isEqualTo(503);
        assertThat(call("GET", "/launching").statusCode()).isEqualTo(200);
        assertThat(scrape).isNotDone();

        mayRender.countDown();
        assertThat(scrape.get().body()).isEqualTo("a_metric 1\n");
    }

    @Test
    void should_answer_pipelined_requests_in_their_order() throws Exception {
        String requests = Stream.of("GET /metrics", "GET /health", "HEAD /health", "GET /nothing", "GET /launching")
                        .map(line -> line + " HTTP/1.1\r\nhost: localhost\r\n\r\n")
                        .collect(Collectors.joining())
                + "GET /ready HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        try (Socket socket =
                new Socket(InetAddress.getLoopbackAddress(), server.address().getPort())) {
            socket.getOutputStream().write(requests.getBytes(StandardCharsets.US_ASCII));

            assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                    .containsSubsequence("200 OK", "a_metric 1\n", "200 OK", "live\n", "200 OK", "content-length: 5")
                    .containsSubsequence("live\n", "404", "200 OK", "a: 3 desired", "503", "starting\n");
        }
    }

    private HttpResponse<String> changeWith(String header, String value, String path) throws Exception {
        return client.send(
                HttpRequest.newBuilder(uri(path))
                        .header(header, value)
                        .POST(BodyPublishers.noBody())
                        .build(),
                BodyHandlers.ofString());
    }

    @Test
    void should_log_each_attempt_to_change_something_in_one_line() throws Exception {
        Queue<String> lines = new ConcurrentLinkedQueue<>();
        AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
            @Override
            protected void append(ILoggingEvent event) {
                lines.add(event.getLevel() + " "
                        + event.getFormattedMessage().replaceFirst("from 127.0.0.1 port \\d+", "from here"));
            }
        };
        appender.start();
        Logger audit = (Logger) LoggerFactory.getLogger(Audit.LOGGER);
        audit.addAppender(appender);
        try {
            call("GET", "/launching");
            call("PUT", "/launching");
            call("POST", "/api/log-level?to=debug");
            call("POST", "/api/log-level?to=%0Aloud");
            changeWith("authorization", "Bearer the-first-admin-token", "/launching?to=on");
            changeWith("authorization", "Bearer the-third-admin-token", "/launching?to=on");
            changeWith("origin", "http://evil.example", "/launching?to=on");
        } finally {
            audit.detachAppender(appender);
        }

        assertThat(lines)
                .containsExactly(
                        "INFO POST /api/log-level?to=debug from here with token 2: 200 {\"level\":\"debug\"}",
                        "WARN POST /api/log-level?to=%0Aloud from here with token 2: 400 expected a level",
                        "INFO POST /launching?to=on from here with token 1: 200 The change is accepted. GET /launching"
                                + " shows it in a moment.",
                        "WARN POST /launching?to=on from here without a valid token: 401 authorization: expected Bearer"
                                + " and a token of admin.token",
                        "WARN POST /launching?to=on from here without a valid token: 403 origin: expected none, or that"
                                + " of this host");
    }

    @Test
    void should_not_let_a_request_add_lines_to_the_audit_log() {
        List<String> lines = new ArrayList<>();
        AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
            @Override
            protected void append(ILoggingEvent event) {
                lines.add(event.getFormattedMessage());
            }
        };
        appender.start();
        Logger audit = (Logger) LoggerFactory.getLogger(Audit.LOGGER);
        audit.addAppender(appender);
        FullHttpResponse answer = AdminAnswers.text(HttpResponseStatus.BAD_REQUEST, "a\nb" + "c".repeat(600));
        try {
            Audit.attempted(
                    new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, "/\u0085\u00e9a"),
                    new InetSocketAddress("127.0.0.1", 7),
                    0,
                    answer);
        } finally {
            audit.detachAppender(appender);
            answer.release();
        }

        assertThat(lines)
                .containsExactly("POST /\\u0085\u00e9a from 127.0.0.1 port 7 without a valid token: 400 a\\u000ab"
                        + "c".repeat(497) + "...");
    }
}
