package io.lambdadispatcher.core.internal.filter;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.observe.BreakerSnapshot;
import io.lambdadispatcher.core.observe.BreakerState;
import io.lambdadispatcher.core.options.BreakerPolicy;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.RequestContext;
import io.lambdadispatcher.core.spi.ResponseFilter;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.core.testkit.RecordingObserver.BreakerChange;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/** Breakers around functions whose responses the test chooses. */
class BreakerFilterTest {
    private static final BreakerPolicy BREAKER = BreakerPolicy.builder("test")
            .errors(0.5)
            .latency(Duration.ofMillis(500))
            .build();

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final ScriptedFunction function = new ScriptedFunction();
    private final RecordingObserver observer = new RecordingObserver();
    private final FilterLoop home = new FilterLoop(channel.eventLoop(), observer, (function, request, client) -> {
        throw new UnsupportedOperationException(function);
    });
    private final FunctionFilters filters = new FunctionFilters("f", observer);
    private final FunctionOpener opener = filters.around(function, channel.eventLoop());

    @BeforeEach
    void freeze() {
        channel.freezeTime();
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private static final class Client extends SilentClient {
        final StringBuilder log = new StringBuilder();

        @Override
        public void onHead(Http2Headers head, boolean end) {
            log.append(head.status()).append(end ? " end " : " ");
        }

        @Override
        public void onData(ByteBuf data, boolean end) {
            log.append(data.toString(StandardCharsets.US_ASCII)).append(end ? " end " : " ");
            data.release();
        }

        @Override
        public void onFailure(Failure failure) {
            log.append(failure.kind()).append(' ').append(failure.retryAfterSeconds());
        }

        @Override
        public String toString() {
            return log.toString().trim();
        }
    }

    private RequestSink open(String method, boolean end, Client client, TrafficPolicy policy) {
        return opener.open(ScriptedFunction.request(method), end, client, policy);
    }

    private static TrafficPolicy policy(BreakerPolicy breaker) {
        return TrafficPolicy.builder().breaker(breaker).build();
    }

    private void pass(long millis) {
        channel.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        channel.runScheduledPendingTasks();
    }

    private List<BreakerState> states() {
        return observer.breakerChanges.stream().map(BreakerChange::state).toList();
    }

    private ScriptedFunction.Call last() {
        return function.calls.get(function.calls.size() - 1);
    }

    private void hang(int requests, boolean end) {
        for (int i = 0; i < requests; i++) {
            open("GET", end, new Client(), policy(BREAKER));
            last().response.onSent();
            // As after a worker that had no room.
            last().response.onSent();
        }
    }

    @Test
    void should_open_while_all_requests_still_hang() {
        hang(20, true);
        pass(499);
        assertThat(states()).isEmpty();
        pass(1);
        assertThat(states()).containsExactly(BreakerState.OPEN);

        Client client = new Client();
        open("GET", true, client, policy(BREAKER));

        assertThat(client).hasToString("BREAKER_OPEN 5");
        assertThat(function.calls).hasSize(20);
        assertThat(observer.ends)
                .extracting(end -> end.failure() + " " + end.substitute())
                .containsExactly("breaker_open null");
    }

    /** Both routes share one breaker, because their policies have the same name. */
    @Test
    void should_judge_each_request_by_the_latency_of_its_own_route() {
        BreakerPolicy patient = BreakerPolicy.builder("test")
                .errors(0.5)
                .latency(Duration.ofSeconds(10))
                .build();
        List<RequestSink> uploads = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            uploads.add(open("POST", false, new Client(), policy(patient)));
            last().response.onSent();
        }
        open("GET", true, new Client(), policy(BREAKER));
        uploads.forEach(upload -> upload.data(Unpooled.EMPTY_BUFFER, true));

        pass(9_999);
        assertThat(states()).isEmpty();
        pass(1);
        assertThat(states()).containsExactly(BreakerState.OPEN);
    }

    @Test
    void should_watch_a_request_although_another_route_has_no_latency() {
        BreakerPolicy blind = BreakerPolicy.builder("test").errors(0.5).build();
        List<RequestSink> uploads = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            uploads.add(open("POST", false, new Client(), policy(BREAKER)));
            last().response.onSent();
        }
        open("GET", true, new Client(), policy(blind));
        uploads.forEach(upload -> upload.data(Unpooled.EMPTY_BUFFER, true));

        pass(500);
        assertThat(states()).containsExactly(BreakerState.OPEN);
    }

    @Test
    void should_open_for_the_time_of_the_route_whose_requests_fail() {
        BreakerPolicy brief = BreakerPolicy.builder("test")
                .errors(1)
                .open(Duration.ofSeconds(1))
                .build();
        hang(20, true);
        open("GET", true, new Client(), policy(brief));
        pass(500);

        Client client = new Client();
        open("GET", true, client, policy(BREAKER));

        assertThat(client).hasToString("BREAKER_OPEN 5");
    }

    /** A reload may have turned it off, or removed its route. */
    @ParameterizedTest
    @CsvSource({"0, 5, 60", "5, 5, 60", "0, 3600, 3600"})
    void should_close_if_no_request_asks_it_any_more(int askedAfter, int openSeconds, int unusedSeconds) {
        BreakerPolicy breaker = BreakerPolicy.builder("test")
                .errors(0.5)
                .open(Duration.ofSeconds(openSeconds))
                .build();
        for (int i = 0; i < 20; i++) {
            open("GET", true, new Client(), policy(breaker));
            last().response.onFailure(new Failure(Failure.Kind.HANDLER_FAILED, "broken"));
        }
        pass(askedAfter * 1000L);
        open("GET", true, new Client(), policy(breaker));
        BreakerState asked = askedAfter == 0 ? BreakerState.OPEN : BreakerState.RAMP_20;

        pass(unusedSeconds * 1000L - 1);
        filters.closeUnusedBreakers(channel.eventLoop().ticker().nanoTime());
        assertThat(filters.breakers()).extracting(BreakerSnapshot::state).containsExactly(asked);
        pass(1);
        filters.closeUnusedBreakers(channel.eventLoop().ticker().nanoTime());
        assertThat(filters.breakers())
                .containsExactly(new BreakerSnapshot(
                        "f", "test", BreakerState.CLOSED, "no request for " + unusedSeconds + " s"));
        assertThat(states()).endsWith(BreakerState.CLOSED);
    }

    /** The filters between the breaker and the function pass on that a worker has a request. */
    @Test
    void should_open_while_requests_behind_another_filter_hang() {
        Filter forward = new Filter() {
            @Override
            public Decision onRequest(RequestContext request) {
                return Decision.pass(new ResponseFilter() {});
            }

            @Override
            public Phase phase() {
                return Phase.FORWARD;
            }
        };
        FunctionOpener filtered = new RequestFilters(List.of(forward), Map.of()).atFunction("f", function, true, home);
        FunctionOpener around = new FunctionFilters("f", observer).around(filtered, channel.eventLoop());
        for (int i = 0; i < 20; i++) {
            around.open(ScriptedFunction.request("GET"), true, new Client(), policy(BREAKER));
        }
        function.calls.forEach(call -> call.response.onSent());
        pass(500);
        assertThat(states()).containsExactly(BreakerState.OPEN);
    }

    @Test
    void should_not_count_time_in_the_queue_or_for_the_body() {
        for (int i = 0; i < 100; i++) {
            open("GET", true, new Client(), policy(BREAKER));
        }
        hang(100, false);
        pass(10_000);
        assertThat(states()).isEmpty();
        function.calls.get(0).response.onSent();
        for (int i = 1; i < 40; i++) {
            function.calls.get(i).response.onSent();
        }
        pass(500);
        assertThat(states()).containsExactly(BreakerState.OPEN);
    }

    /** The end of its body can let a request be sent that waited. */
    @Test
    void should_watch_a_request_once_that_is_sent_at_the_end_of_its_body() {
        function.sendsAtEnd = true;
        for (int i = 0; i < 20; i++) {
            open("POST", false, new Client(), policy(BREAKER))
                    .data(Unpooled.copiedBuffer("a", StandardCharsets.US_ASCII), true);
            last().take();
        }
        pass(500);
        assertThat(states()).containsExactly(BreakerState.OPEN);
    }

    @Test
    void should_count_no_request_that_the_client_cancels_or_that_is_answered() {
        for (int i = 0; i < 100; i++) {
            RequestSink request = open("GET", true, new Client(), policy(BREAKER));
            last().response.onSent();
            request.cancel(ErrorCode.CANCELLED);
        }
        hang(100, true);
        function.calls.subList(100, 200).forEach(call -> call.respond(404, true));
        pass(10_000);
        assertThat(states()).isEmpty();
    }

    @Test
    void should_count_responses_of_5xx() {
        hang(20, true);
        function.calls.forEach(call -> call.respond(501, true));
        assertThat(states()).containsExactly(BreakerState.OPEN);
    }

    @ParameterizedTest
    @EnumSource(
            value = Failure.Kind.class,
            names = {
                "HANDLER_FAILED",
                "HANDLER_CANCELLED",
                "WORKER_LOST",
                "BAD_RESPONSE",
                "FUNCTION_FAILED",
                "INVOKE_FAILED",
                "TIMEOUT"
            })
    void should_count_failures_of_the_function(Failure.Kind kind) {
        hang(20, true);
        function.calls.forEach(call -> call.response.onFailure(new Failure(kind, "a failure")));
        assertThat(states()).containsExactly(BreakerState.OPEN);
    }

    @ParameterizedTest
    @EnumSource(
            value = Failure.Kind.class,
            mode = Mode.EXCLUDE,
            names = {
                "HANDLER_FAILED",
                "HANDLER_CANCELLED",
                "WORKER_LOST",
                "BAD_RESPONSE",
                "FUNCTION_FAILED",
                "INVOKE_FAILED",
                "TIMEOUT"
            })
    void should_count_no_failure_of_the_client_or_the_dispatcher(Failure.Kind kind) {
        hang(100, true);
        function.calls.forEach(call -> call.response.onFailure(new Failure(kind, "a failure")));
        pass(10_000);
        assertThat(states()).isEmpty();
    }

    @Test
    void should_count_the_deadline_of_the_route_but_none_of_a_client() {
        TrafficPolicy policy = TrafficPolicy.builder()
                .breaker(BreakerPolicy.builder("test").errors(0.5).build())
                .deadline(DeadlinePolicy.builder()
                        .limit(Duration.ofSeconds(1))
                        .header("x-timeout-ms")
                        .build())
                .build();
        for (int i = 0; i < 40; i++) {
            open("GET", true, new Client(), policy);
            last().response.onSent();
        }
        Failure late = new Failure(Failure.Kind.DEADLINE_EXCEEDED, "late");
        pass(500);
        function.calls.subList(0, 20).forEach(call -> call.response.onFailure(late));
        assertThat(states()).isEmpty();
        pass(500);
        function.calls.subList(20, 40).forEach(call -> call.response.onFailure(late));
        assertThat(states()).containsExactly(BreakerState.OPEN);
    }
}
