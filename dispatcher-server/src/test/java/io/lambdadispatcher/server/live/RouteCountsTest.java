package io.lambdadispatcher.server.live;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.server.live.RouteCounts.RouteRate;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RouteCountsTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
    /** The clock can have any value. */
    private static final long START = Long.MAX_VALUE - SECOND;

    private final RouteCounts routes = new RouteCounts(START);

    private record End(String path, int status) implements ExchangeEnd {
        @Override
        public Http2Headers headers() {
            return new DefaultHttp2Headers().method("GET").path(new AsciiString(path));
        }

        @Override
        public String function() {
            return "f";
        }

        @Override
        public @Nullable String workerId() {
            return null;
        }

        @Override
        public int attempts() {
            return 1;
        }

        @Override
        public Outcome outcome() {
            return Outcome.COMPLETED;
        }

        @Override
        public @Nullable String failure() {
            return null;
        }

        @Override
        public long queueNanos() {
            return 0;
        }

        @Override
        public long firstByteNanos() {
            return 0;
        }

        @Override
        public long totalNanos() {
            return 0;
        }

        @Override
        public long requestBytes() {
            return 0;
        }

        @Override
        public long responseBytes() {
            return 0;
        }
    }

    private void answer(String path, int status, long nanos) {
        routes.record("f", new End(path, status), nanos);
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

    /** Scanners ask for many paths. Their routes make room when they have stopped. */
    @Test
    void should_count_new_routes_when_old_ones_have_had_no_request() {
        for (int i = 0; i < 10_000; i++) {
            answer("/" + Integer.toString(i + 36, 36).replaceAll("\\d", "x") + "/" + letters(i), 404, MILLI);
        }
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
