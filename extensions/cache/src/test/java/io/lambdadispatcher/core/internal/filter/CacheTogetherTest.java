package io.lambdadispatcher.core.internal.filter;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.cache.CachePolicy;
import io.lambdadispatcher.cache.HttpCache;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.filter.StageContractTest.Feature;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.options.BreakerPolicy;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the cache and the dispatcher's own filters do to one request. */
class CacheTogetherTest {
    /** Only deadlines can open it in time. */
    private static final BreakerPolicy BREAKER = BreakerPolicy.builder("test")
            .errors(0.5)
            .latency(Duration.ofMinutes(10))
            .build();

    private static final CachePolicy CACHE = CachePolicy.builder("route").build();
    private static final DeadlinePolicy DEADLINE = DeadlinePolicy.builder()
            .limit(Duration.ofSeconds(30))
            .header("x-timeout")
            .build();

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final ScriptedFunction function = new ScriptedFunction();
    private final RecordingObserver observer = new RecordingObserver();
    private final FunctionOpener opener = chain(function, observer, channel);

    /** Returns the function behind all filters, as the dispatcher puts them. */
    private static FunctionOpener chain(FunctionOpener target, RecordingObserver observer, EmbeddedChannel channel) {
        FilterLoop home = new FilterLoop(channel.eventLoop(), observer, (name, sent, client) -> {
            throw new AssertionError("the cache sends no requests past the breaker");
        });
        FunctionOpener own = new FunctionFilters("f", observer).around(target, channel.eventLoop());
        return new RequestFilters(List.of(new HttpCache(1 << 24)), Map.of()).beforeFunction("f", own, true, home);
    }

    @BeforeEach
    void freeze() {
        channel.freezeTime();
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private static final class Client extends SilentClient {
        private final StringBuilder log = new StringBuilder();
        private int takenBytes;

        @Override
        public void onRequestTaken(int taken) {
            takenBytes += taken;
        }

        @Override
        public void onHead(Http2Headers head, boolean end) {
            log.append(head.status());
        }

        @Override
        public void onFailure(Failure failure) {
            log.append(failure.kind());
        }
    }

    private RequestSink open(Client client, TrafficPolicy policy, String... fields) {
        return opener.open(ScriptedFunction.request("GET", fields), true, client, policy);
    }

    private void pass(long millis) {
        channel.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        channel.runScheduledPendingTasks();
    }

    @Test
    void should_open_no_breaker_because_of_clients_that_waited_for_another_response() {
        TrafficPolicy policy = TrafficPolicy.builder()
                .breaker(BREAKER)
                .deadline(DEADLINE)
                .extension(CachePolicy.class, CACHE)
                .build();
        open(new Client(), policy);
        for (int i = 0; i < 25; i++) {
            open(new Client(), policy, "x-timeout", "1000");
        }
        function.only().response.onHead(ScriptedFunction.ok("cache-control", "no-store"), true);
        channel.runPendingTasks();
        assertThat(function.calls).hasSize(26);
        failLate(function.calls.subList(1, 26));
        assertThat(observer.breakerChanges).isEmpty();
    }

    private void failLate(List<ScriptedFunction.Call> calls) {
        calls.forEach(call -> call.response.onSent());
        pass(1000);
        calls.forEach(call -> call.response.onFailure(new Failure(Failure.Kind.DEADLINE_EXCEEDED, "for the test")));
    }

    /** RFC 9111 section 5.2.1.7. */
    @Test
    void should_send_a_request_for_a_stored_response_to_no_function() {
        Client client = new Client();
        TrafficPolicy policy =
                TrafficPolicy.builder().extension(CachePolicy.class, CACHE).build();
        open(client, policy, "cache-control", "only-if-cached");
        assertThat(client.log).hasToString("ONLY_IF_CACHED");
        assertThat(function.calls).isEmpty();
    }

    static Stream<Consumer<TrafficPolicy.Builder>> others() {
        return Stream.of(policy -> {}, Feature.BREAKER, Feature.DEADLINE, Feature.BREAKER.andThen(Feature.DEADLINE));
    }

    @ParameterizedTest
    @MethodSource("others")
    void should_keep_the_contract(Consumer<TrafficPolicy.Builder> other) {
        TrafficPolicy.Builder policy = TrafficPolicy.builder()
                .extension(
                        CachePolicy.class,
                        CachePolicy.builder("test")
                                .staleIfError(Duration.ofMinutes(1))
                                .maxBodyBytes(1 << 16)
                                .build());
        other.accept(policy);
        StageContractTest.check(policy.build(), CacheTogetherTest::chain);
    }
}
