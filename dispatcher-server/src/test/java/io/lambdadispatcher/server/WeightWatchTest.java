package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.server.config.ConfigurationLoader;
import io.lambdadispatcher.server.config.FunctionConfiguration;
import io.lambdadispatcher.server.config.FunctionConfiguration.Launcher;
import io.lambdadispatcher.server.config.Route;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.Handler;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

class WeightWatchTest {
    private static final Logger LOGGER = (Logger) LoggerFactory.getLogger(WeightWatch.class);
    private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
    private static final String SECRET = "0123456789abcdef";

    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final MockTicker ticker = Ticker.newMockTicker();
    private final WeightWatch watch = new WeightWatch(ticker);

    /** A request that a worker has answered. */
    private record End(
            String function,
            @Nullable String workerId,
            int attempts,
            int status,
            Outcome outcome,
            long firstByteNanos,
            @Nullable String shadowOf,
            @Nullable String failure,
            long requestBytes,
            List<ExtraAttempt> extra)
            implements ExchangeEnd {
        End(String function, @Nullable String workerId, int attempts, int status, Outcome outcome, long nanos) {
            this(function, workerId, attempts, status, outcome, nanos, null, null, 0, List.of());
        }

        End copyOf(String other) {
            return new End(function, workerId, attempts, status, outcome, firstByteNanos, other, null, 0, extra);
        }

        End failedBy(String token) {
            return new End(function, workerId, attempts, status, outcome, firstByteNanos, null, token, 0, extra);
        }

        End withBody() {
            return new End(function, workerId, attempts, status, outcome, firstByteNanos, null, failure, 1, extra);
        }

        End after(ExtraAttempt... reasons) {
            return new End(
                    function,
                    workerId,
                    1 + reasons.length,
                    status,
                    outcome,
                    firstByteNanos,
                    null,
                    failure,
                    0,
                    List.of(reasons));
        }

        @Override
        public int extraAttempts(ExtraAttempt reason) {
            return Collections.frequency(extra, reason);
        }

        @Override
        public Http2Headers headers() {
            return new DefaultHttp2Headers();
        }

        @Override
        public long responseBytes() {
            return 0;
        }

        @Override
        public long queueNanos() {
            return 0;
        }

        @Override
        public long totalNanos() {
            return firstByteNanos;
        }
    }

    @BeforeEach
    void listen() {
        log.start();
        LOGGER.addAppender(log);
    }

    @AfterEach
    void forget() {
        LOGGER.detachAppender(log);
    }

    private static FunctionConfiguration function(String name, String path, int weight) {
        Route route = new Route(null, null, path, weight);
        return new FunctionConfiguration(
                FunctionOptions.of(name), route, List.of(), null, Launcher.EXTERNAL, name, name, null, null);
    }

    private void weigh(int shop, int next) {
        watch.setFunctions(List.of(function("shop", "", shop), function("next", "", next)));
    }

    private void end(int times, End end) {
        ExchangeListener listener = watch.onExchangeStart(null);
        for (int i = 0; i < times && listener != null; i++) {
            listener.onEnd(end);
        }
    }

    private void answer(String function, int times, int status, long millis) {
        end(times, new End(function, "w-" + function, 1, status, Outcome.COMPLETED, millis * MILLI));
    }

    /** Both functions get requests, and {@code next} fails some of its 100. */
    private void serve(int failures) {
        answer("shop", 1000, 200, 5);
        answer("next", 100 - failures, 200, 5);
        answer("next", failures, 503, 5);
        watch.look();
    }

    private List<String> lines(Level level) {
        return log.list.stream()
                .filter(line -> line.getLevel() == level)
                .map(ILoggingEvent::getFormattedMessage)
                .toList();
    }

    @Test
    void should_warn_once_that_a_function_fails_more_often_than_a_heavier_one() {
        weigh(95, 5);
        serve(20);
        serve(20);

        assertThat(lines(Level.WARN))
                .containsExactly("function next (weight 5) is worse than function shop (weight 95):"
                        + " 20.0 % of the requests to function next failed, 0.0 % to function shop");
        assertThat(lines(Level.INFO)).isEmpty();
    }

    @Test
    void should_warn_of_a_higher_p99() {
        weigh(95, 5);
        answer("shop", 1000, 200, 5);
        answer("next", 100, 200, 80);
        watch.look();

        assertThat(lines(Level.WARN))
                .singleElement()
                .asString()
                .startsWith(
                        "function next (weight 5) is worse than function shop (weight 95): the p99 of function next is ")
                .endsWith(" ms, that of function shop 5 ms");
    }

    /** At 20 to 80, the function that is tried is the heavier one. */
    @Test
    void should_warn_of_the_heavier_one_as_well() {
        weigh(20, 80);
        serve(20);

        assertThat(lines(Level.WARN))
                .singleElement()
                .asString()
                .startsWith("function next (weight 80) is worse than function shop (weight 20)");
    }

    @Test
    void should_say_when_it_is_not_worse_any_more() {
        weigh(95, 5);
        serve(20);
        for (int i = 0; i < 3; i++) {
            assertThat(lines(Level.INFO)).isEmpty();
            ticker.advance(5, TimeUnit.MINUTES);
            serve(0);
        }
        serve(0);

        assertThat(lines(Level.WARN)).hasSize(1);
        assertThat(lines(Level.INFO))
                .containsExactly("function next (weight 5) is not worse than function shop (weight 95) any more");
        serve(50);
        assertThat(lines(Level.WARN)).hasSize(2);
    }

    /** Half of the answers are forgotten every 5 minutes, and those that remain are too few. */
    @Test
    void should_warn_once_of_failures_that_remain() {
        weigh(95, 5);
        for (int rotation = 0; rotation < 4; rotation++) {
            answer("shop", 1000, 200, 5);
            answer("next", 47, 200, 5);
            answer("next", 3, 503, 5);
            watch.look();
            ticker.advance(5, TimeUnit.MINUTES);
            watch.look();
            watch.look();
        }

        assertThat(lines(Level.WARN)).hasSize(1);
        assertThat(lines(Level.INFO)).isEmpty();
    }

    /** Before the period ends, one look sees the failures, and the next ones do not any more. */
    @Test
    void should_not_say_that_it_is_better_in_a_period_in_which_it_was_worse() {
        weigh(95, 5);
        serve(6);
        ticker.advance(5, TimeUnit.MINUTES);
        answer("next", 200, 200, 5);
        watch.look();

        assertThat(lines(Level.WARN)).hasSize(1);
        assertThat(lines(Level.INFO)).isEmpty();
        ticker.advance(5, TimeUnit.MINUTES);
        watch.look();
        assertThat(lines(Level.INFO)).hasSize(1);
    }

    @Test
    void should_say_that_a_function_is_not_compared_any_more() {
        weigh(95, 5);
        serve(20);
        weigh(100, 0);

        assertThat(lines(Level.INFO)).containsExactly("function next is not compared with function shop any more");
    }

    @Test
    void should_name_no_pair_that_was_not_compared() {
        List<FunctionConfiguration> before =
                List.of(function("a", "", 60), function("b", "", 30), function("c", "", 10));
        watch.setFunctions(before);
        answer("a", 100, 200, 5);
        answer("c", 100, 503, 5);
        watch.look();
        watch.setFunctions(List.of(function("a", "", 30), function("b", "", 60), function("c", "", 10)));
        assertThat(lines(Level.INFO)).containsExactly("function c is not compared with function a any more");

        answer("b", 100, 200, 5);
        answer("c", 100, 503, 5);
        watch.look();
        assertThat(lines(Level.WARN))
                .satisfiesExactly(
                        line -> assertThat(line).contains("is worse than function a (weight 60)"),
                        line -> assertThat(line).contains("is worse than function b (weight 60)"));
    }

    /** A command that gives a worse function less is no reason for another line. */
    @Test
    void should_keep_in_mind_what_the_log_says_if_weights_change() {
        weigh(80, 20);
        serve(20);
        weigh(95, 5);
        serve(20);

        assertThat(lines(Level.WARN)).hasSize(1);
    }

    /** With less weight, a function fails as often, but there are fewer answers that show it. */
    @Test
    void should_not_say_that_it_is_better_as_soon_as_weights_change() {
        weigh(80, 20);
        serve(20);
        weigh(95, 5);
        ticker.advance(5, TimeUnit.MINUTES);
        serve(4);
        assertThat(lines(Level.INFO)).isEmpty();

        ticker.advance(5, TimeUnit.MINUTES);
        serve(4);
        assertThat(lines(Level.INFO)).isEmpty();
    }

    @Test
    void should_follow_no_request_while_no_weights_split_the_traffic() {
        assertThat(watch.onExchangeStart(null)).isNull();
        weigh(100, 0);
        assertThat(watch.onExchangeStart(null)).isNull();
        watch.setFunctions(List.of(function("shop", "/a", 1), function("next", "/b", 1)));
        assertThat(watch.onExchangeStart(null)).isNull();
        weigh(99, 1);
        assertThat(watch.onExchangeStart(null)).isNotNull();
    }

    @Test
    void should_judge_no_function_by_few_answers() {
        weigh(95, 5);
        answer("shop", 1000, 200, 5);
        answer("next", 49, 503, 5);
        watch.look();
        assertThat(log.list).isEmpty();

        answer("next", 1, 503, 5);
        watch.look();
        assertThat(lines(Level.WARN)).hasSize(1);
    }

    @Test
    void should_not_count_what_says_nothing_about_the_function() {
        weigh(95, 5);
        serve(0);
        end(100, new End("next", null, 0, 503, Outcome.FAILED, -1)); // It was queued for too long.
        end(100, new End("next", "w", 1, 200, Outcome.CANCELLED, 900 * MILLI));
        end(100, new End("next", "w", 1, 413, Outcome.FAILED, 900 * MILLI).failedBy("too_large"));
        end(100, new End("next", "w", 1, 503, Outcome.COMPLETED, MILLI).copyOf("shop"));
        end(100, new End("next", "w", 1, 200, Outcome.COMPLETED, 900 * MILLI).after(ExtraAttempt.HEDGE));
        end(100, new End("next", "w", 1, 200, Outcome.COMPLETED, 900 * MILLI).after(ExtraAttempt.REFUSED));
        watch.look();

        assertThat(log.list).isEmpty();
    }

    /** It includes the time in which the client sends the body. */
    @Test
    void should_take_no_time_of_a_request_with_a_body() {
        weigh(95, 5);
        serve(0);
        end(100, new End("next", "w", 1, 200, Outcome.COMPLETED, 900 * MILLI).withBody());
        watch.look();

        assertThat(log.list).isEmpty();
    }

    @Test
    void should_take_no_time_of_a_worker_that_has_just_connected() {
        End slow = new End("next", "cold", 1, 200, Outcome.COMPLETED, 900 * MILLI);
        weigh(95, 5);
        serve(0);
        connect("cold");
        end(100, slow);
        watch.look();
        assertThat(log.list).isEmpty();

        ticker.advance(30, TimeUnit.SECONDS);
        end(100, slow);
        watch.look();
        assertThat(lines(Level.WARN)).hasSize(1);
    }

    @Test
    void should_know_a_worker_until_its_last_connection_is_closed() {
        End slow = new End("next", "w", 1, 200, Outcome.COMPLETED, 900 * MILLI);
        weigh(95, 5);
        serve(0);
        connect("w");
        connect("w");
        watch.onWorkerDisconnected("next", "w", true, "");
        end(100, slow);
        watch.look();
        assertThat(log.list).isEmpty();

        ticker.advance(30, TimeUnit.SECONDS);
        watch.onWorkerDisconnected("next", "w", true, "");
        connect("w");
        end(100, slow);
        watch.look();
        assertThat(log.list).isEmpty();
    }

    private void connect(String worker) {
        watch.onWorkerConnected("next", worker, new InetSocketAddress(0), 1);
    }

    /** AWS may start an execution environment for any of them. */
    @Test
    void should_take_no_time_of_a_direct_invocation_but_count_its_failures() {
        weigh(95, 5);
        serve(0);
        end(100, new End("next", null, 1, 200, Outcome.COMPLETED, 900 * MILLI));
        watch.look();
        assertThat(log.list).isEmpty();

        end(100, new End("next", null, 1, 502, Outcome.COMPLETED, MILLI));
        watch.look();
        assertThat(lines(Level.WARN)).hasSize(1);
    }

    /** Incomplete responses are failures, whatever the status was. */
    @ParameterizedTest
    @ValueSource(ints = {200, 404})
    void should_count_a_response_that_is_cut_off(int status) {
        weigh(95, 5);
        serve(0);
        end(20, new End("next", "w", 1, status, Outcome.FAILED, MILLI).failedBy("worker_lost"));
        watch.look();

        assertThat(lines(Level.WARN)).hasSize(1);
    }

    /** Nobody noticed a failure, but the function has failed. */
    @ParameterizedTest
    @EnumSource(names = {"LOST", "STATUS", "TIMEOUT"})
    void should_count_an_attempt_that_was_repeated(ExtraAttempt reason) {
        weigh(95, 5);
        serve(0);
        end(10, new End("next", "w", 1, 200, Outcome.COMPLETED, MILLI).after(reason));
        end(10, new End("next", "w", 1, 0, Outcome.CANCELLED, -1).after(reason));
        watch.look();

        assertThat(lines(Level.WARN))
                .singleElement()
                .asString()
                .contains("15.4 % of the requests to function next failed"); // 20 of 130
    }

    @Test
    void should_count_both_attempts_if_the_repeated_one_fails_as_well() {
        weigh(95, 5);
        serve(0);
        end(10, new End("next", "w", 1, 503, Outcome.COMPLETED, MILLI).after(ExtraAttempt.STATUS));
        watch.look();

        assertThat(lines(Level.WARN))
                .singleElement()
                .asString()
                .contains("16.7 % of the requests to function next failed"); // 20 of 120
    }

    @Test
    void should_let_event_loops_count_side_by_side() throws Exception {
        WeightWatch.Answers answers = new WeightWatch.Answers();
        Thread other;
        do {
            other = new Thread(() -> answers.add(1, 0, -1));
        } while ((other.getId() - Thread.currentThread().getId()) % WeightWatch.Answers.STRIPES == 0);
        synchronized (answers.stripe()) {
            other.start();
            other.join(Duration.ofSeconds(30).toMillis());
            assertThat(other.isAlive()).isFalse();
        }
        answers.add(1, 0, -1);
        assertThat(answers.recent().answered()).isEqualTo(2);
        answers.beginPeriod();
        assertThat(answers.recent().answered()).isEqualTo(2);
    }

    @Test
    void should_compare_each_of_three_functions_with_the_heaviest_other_one() {
        watch.setFunctions(
                List.of(function("a", "", 10), function("b", "", 60), function("c", "", 30), function("d", "/d", 1)));
        answer("a", 100, 503, 5);
        answer("b", 100, 200, 5);
        answer("c", 100, 503, 5);
        watch.look();

        assertThat(lines(Level.WARN))
                .satisfiesExactly(
                        line -> assertThat(line)
                                .startsWith("function a (weight 10) is worse than function b (weight 60)"),
                        line -> assertThat(line)
                                .startsWith("function c (weight 30) is worse than function b (weight 60)"));
    }

    @Test
    void should_watch_the_functions_of_a_server(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("settings.yaml");
        Files.write(
                file,
                List.of(
                        "public.plain.port: 127.0.0.1:0",
                        "workers.port: 127.0.0.1:0",
                        "workers.tls.certificate: off",
                        "admin.port: off",
                        "workers.secret: " + SECRET,
                        "functions:",
                        "- {name: shop, weight: 60}",
                        "- {name: next, weight: 40}"));
        Server server = Server.start(ConfigurationLoader.load(Map.of(), file, Map.of(), Map.of(), List.of()), Map.of());
        List<Worker> workers = new ArrayList<>();
        try {
            workers.add(worker("shop", server, (request, response) -> response.respond(200, "ok")));
            workers.add(worker("next", server, (request, response) -> response.respond(503, "no")));
            HttpClient client = HttpClient.newHttpClient();
            HttpRequest request = HttpRequest.newBuilder(
                            URI.create(server.publicUrls().get(0)))
                    .build();
            for (int i = 0; i < 300; i++) {
                client.send(request, BodyHandlers.discarding());
            }
            Await.until(
                    "the log warns",
                    Duration.ofSeconds(60),
                    () -> lines(Level.WARN).stream()
                            .anyMatch(
                                    line -> line.startsWith("function next (weight 40) is worse than function shop")));
        } finally {
            workers.forEach(Worker::close);
            server.stop(false);
        }
    }

    private static Worker worker(String function, Server server, Handler handler) throws Exception {
        WorkerConfig config =
                WorkerConfig.of(function, SECRET, new InetSocketAddress("127.0.0.1", server.workersPort()));
        Worker worker = new Worker(config.toBuilder().plain().build(), handler).start();
        worker.ready().toCompletableFuture().get(30, TimeUnit.SECONDS);
        return worker;
    }
}
