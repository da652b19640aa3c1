package io.lambdadispatcher.core.internal.filter;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.cache.CachePolicy;
import io.lambdadispatcher.cache.HttpCache;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.options.BreakerPolicy;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.AnyRelease;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the cache and the dispatcher's own filters do to one request. */
@AnyRelease
class CacheTogetherTest {
    private static final int WORLDS = Integer.getInteger("contract.worlds", 100);
    private static final int STEPS = 60;

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

    private static Http2Headers head(String... fields) {
        return with(
                new DefaultHttp2Headers()
                        .method("GET")
                        .scheme("http")
                        .authority("a")
                        .path("/"),
                fields);
    }

    private static Http2Headers ok(String... fields) {
        return with(new DefaultHttp2Headers().status("200"), fields);
    }

    private static Http2Headers with(Http2Headers head, String... fields) {
        for (int i = 0; i < fields.length; i += 2) {
            head.add(fields[i], fields[i + 1]);
        }
        return head;
    }

    private RequestSink open(Client client, TrafficPolicy policy, String... fields) {
        return opener.open(head(fields), true, client, policy);
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
        function.only().response.onHead(ok("cache-control", "no-store"), true);
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
        Consumer<TrafficPolicy.Builder> nothing = policy -> {};
        Consumer<TrafficPolicy.Builder> breaker = policy -> policy.breaker(BreakerPolicy.builder("test")
                .errors(0.5)
                .latency(Duration.ofSeconds(5))
                .build());
        Consumer<TrafficPolicy.Builder> deadline = policy -> policy.deadline(
                DeadlinePolicy.builder().limit(Duration.ofSeconds(30)).build());
        return Stream.of(nothing, breaker, deadline, breaker.andThen(deadline));
    }

    /** See {@link StageContractTest}. */
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
        for (int seed = 0; seed < WORLDS; seed++) {
            try {
                run(policy.build(), new Random(seed));
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
            }
        }
    }

    private static void run(TrafficPolicy policy, Random random) {
        EmbeddedChannel channel = new EmbeddedChannel();
        channel.freezeTime();
        ContractWorld world = new ContractWorld(random);
        ContractWorld.Service own = world.new Service("own");
        RecordingObserver recorded = new RecordingObserver();
        FunctionOpener opener = chain(own, recorded, channel);
        for (int i = 0; i < STEPS; i++) {
            StageContractTest.step(world, opener, policy, channel);
        }
        StageContractTest.end(world, channel);
        world.clients.forEach(client -> StageContractTest.checkReport(world, client, recorded));
        channel.finishAndReleaseAll();
        assertThat(world.buffers).allMatch(buffer -> buffer.refCnt() == 0);
    }
}
