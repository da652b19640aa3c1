package io.lambdadispatcher.core.internal.filter;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.cache.CachePolicy;
import io.lambdadispatcher.cache.HttpCache;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.filter.StageContractTest.Feature;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.shadow.ShadowPolicy;
import io.lambdadispatcher.shadow.ShadowTraffic;
import io.netty.channel.embedded.EmbeddedChannel;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What shadow traffic and other filters do to one request. */
class ShadowTogetherTest {
    private final AtomicInteger copies = new AtomicInteger();

    /** Returns the function behind all filters, as the dispatcher puts them. */
    private FunctionOpener chain(FunctionOpener target, RecordingObserver observer, EmbeddedChannel channel) {
        Random random = new Random(copies.get());
        FilterLoop home = new FilterLoop(
                channel.eventLoop(), observer, (name, copy, client) -> response(random, channel, copies));
        RequestFilters filters = new RequestFilters(List.of(new HttpCache(1 << 24), new ShadowTraffic()), Map.of());
        FunctionOpener shadowed = filters.atFunction("f", target, true, home);
        FunctionOpener own = new FunctionFilters("f", observer).around(shadowed, channel.eventLoop());
        return filters.beforeFunction("f", own, true, home);
    }

    /** Answers a copy at once, later or never, with a response or without one. */
    private static CompletableFuture<DispatchResponse> response(
            Random random, EmbeddedChannel channel, AtomicInteger copies) {
        copies.incrementAndGet();
        CompletableFuture<DispatchResponse> response = new CompletableFuture<>();
        Runnable end = random.nextInt(3) == 0
                ? () -> response.completeExceptionally(new IllegalStateException("for the test"))
                : () -> response.complete(
                        DispatchResponse.of(random.nextBoolean() ? 200 : 500, Map.of(), new byte[random.nextInt(9)]));
        switch (random.nextInt(3)) {
            case 0 -> end.run();
            case 1 -> channel.eventLoop().schedule(end, random.nextInt(3000), TimeUnit.MILLISECONDS);
            default -> {}
        }
        return response;
    }

    static Stream<Consumer<TrafficPolicy.Builder>> others() {
        Consumer<TrafficPolicy.Builder> cache = policy -> policy.extension(
                CachePolicy.class,
                CachePolicy.builder("test").staleIfError(Duration.ofMinutes(1)).build());
        return Stream.of(
                policy -> {},
                cache,
                Feature.BREAKER,
                Feature.DEADLINE,
                cache.andThen(Feature.BREAKER).andThen(Feature.DEADLINE));
    }

    @ParameterizedTest
    @MethodSource("others")
    void should_keep_the_contract(Consumer<TrafficPolicy.Builder> other) {
        TrafficPolicy.Builder policy = TrafficPolicy.builder()
                .extension(ShadowPolicy.class, ShadowPolicy.of("next", 1).withAllMethods());
        other.accept(policy);
        StageContractTest.check(policy.build(), this::chain);
        assertThat(copies).hasValueGreaterThan(100);
    }
}
