package io.lambdadispatcher.server.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.server.live.RouteCounts.RouteRate;
import io.netty.util.AsciiString;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RouteCountsTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
    /** The clock can have any value. */
    private static final long START = Long.MAX_VALUE - SECOND;

    private final RouteCounts routes = new RouteCounts(START);

    private void answer(String path, int status, long nanos) {
        answer("f", path, status, nanos);
    }

    private void answer(String function, String path, int status, long nanos) {
        ExchangeEnd end =
                new RecorderTest.End(function, null, 1, "GET", path, status, Outcome.COMPLETED, null, 0, nanos);
        routes.record(function, end, nanos);
    }

    private void pass(int fromSecond, int toSecond) {
        for (int i = fromSecond; i <= toSecond; i++) {
            routes.tick(START + i * SECOND);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "/, GET /",
        "/orders?id=7, GET /orders",
        "/orders/17/items, GET /orders/:id/items",
        "/a/b/c/d/e, GET /a/b/c",
        "/orders/, GET /orders/",
        "*, GET *"
    })
    void should_name_a_route_by_its_method_and_three_parts(String path, String name) {
        assertThat(RouteCounts.name("GET", new AsciiString(path))).isEqualTo(name);
        answer(path, 200, MILLI);
        assertThat(routes.list("f", START + SECOND)).extracting(RouteRate::name).containsExactly(name);
    }

    @Test
    void should_tell_rate_latency_and_errors_of_each_route() {
        for (int i = 0; i < 200; i++) {
            answer("/fast/" + i, i < 3 ? 503 : 200, 2 * MILLI);
        }
        for (int i = 0; i < 50; i++) {
            answer("/slow?" + i, 200, i == 49 ? 900 * MILLI : 100 * MILLI);
        }

        assertThat(routes.list("other", START + 10 * SECOND)).isEmpty();
        assertThat(routes.list("f", START + 10 * SECOND)).hasSize(2);
        RouteRate fast = routes.list("f", START + 10 * SECOND).get(0);
        assertThat(fast)
                .returns("GET /fast/:id", RouteRate::name)
                .returns(20.0, RouteRate::perSecond)
                .returns(3L, RouteRate::serverErrors);
        assertThat(fast.p99Micros()).isBetween(2_000L, 2_500L);
        RouteRate slow = routes.list("f", START + 10 * SECOND).get(1);
        assertThat(slow).returns("GET /slow", RouteRate::name).returns(5.0, RouteRate::perSecond);
        assertThat(slow.p99Micros()).isBetween(900_000L, 1_125_000L);
    }

    @Test
    void should_forget_what_is_older_than_a_minute() {
        answer("/a", 500, MILLI);
        pass(1, 59);
        assertThat(routes.list("f", START + 59 * SECOND))
                .extracting(RouteRate::name)
                .containsExactly("GET /a");
        pass(60, 61);
        assertThat(routes.list("f", START + 61 * SECOND)).isEmpty();
    }

    private void ask(int madeUpPaths, int status) {
        for (int i = 0; i < madeUpPaths; i++) {
            answer("/" + Integer.toString(i + 36, 36).replaceAll("\\d", "x") + "/" + letters(i), status, MILLI);
        }
    }

    /** Scanners ask for many paths that do not exist. */
    @Test
    void should_count_unknown_routes_together_while_they_have_only_client_errors() {
        ask(10_000, 404);
        answer("/mine", 200, MILLI);
        answer("/mine", 404, MILLI);
        answer("/broken", 500, MILLI);
        assertThat(routes.list("f", START + SECOND))
                .extracting(RouteRate::name, RouteRate::perSecond)
                .containsExactly(
                        tuple("other paths with client errors only", 10_000.0),
                        tuple("GET /mine", 2.0),
                        tuple("GET /broken", 1.0));
    }

    @Test
    void should_count_client_errors_of_unknown_routes_for_each_function() {
        answer("/a", 404, MILLI);
        answer("g", "/a", 403, MILLI);
        for (String function : List.of("f", "g")) {
            assertThat(routes.list(function, START + SECOND))
                    .singleElement()
                    .returns("other paths with client errors only", RouteRate::name)
                    .returns(1.0, RouteRate::perSecond);
        }
    }

    /** An application may answer any path. Routes make room when they have no more requests. */
    @Test
    void should_count_new_routes_when_old_ones_have_had_no_request() {
        ask(10_000, 200);
        assertThat(routes.list("f", START + SECOND)).hasSizeBetween(RouteCounts.SLOTS / 2, RouteCounts.SLOTS);

        pass(1, 121);
        answer("/mine", 200, MILLI);
        assertThat(routes.list("f", START + 122 * SECOND))
                .extracting(RouteRate::name)
                .containsExactly("GET /mine");
    }

    private static String letters(int value) {
        StringBuilder text = new StringBuilder();
        for (int left = value; left > 0; left /= 26) {
            text.append((char) ('a' + left % 26));
        }
        return text.toString();
    }
}
