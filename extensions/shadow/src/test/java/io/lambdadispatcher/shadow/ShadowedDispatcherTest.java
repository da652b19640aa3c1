package io.lambdadispatcher.shadow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.cache.CachePolicy;
import io.lambdadispatcher.cache.HttpCache;
import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.FilterEvent;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.RateLimit;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.AsyncInProcessHandler;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.Await;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Shadow traffic in a dispatcher whose functions are served in this process. */
@Timeout(60)
class ShadowedDispatcherTest {
    private final RecordingObserver observer = new RecordingObserver();
    private final BlockingQueue<String> served = new LinkedBlockingQueue<>();
    private final ShadowTraffic shadow = new ShadowTraffic();

    private static TrafficPolicy.Builder copiedTo(String function) {
        return TrafficPolicy.builder().extension(ShadowPolicy.class, ShadowPolicy.of(function, 1));
    }

    private Dispatcher start(TrafficPolicy ofShop) {
        return start(ofShop, request -> Decision.pass());
    }

    private Dispatcher start(TrafficPolicy ofShop, Filter first) {
        return start(ofShop, first, answering("shop"), answering("next"));
    }

    private AsyncInProcessHandler answering(String function) {
        return request -> {
            served.add(function + " " + request.header(ShadowTraffic.HEADER));
            return CompletableFuture.completedFuture(
                    DispatchResponse.of(200, Map.of("cache-control", "max-age=60"), new byte[10]));
        };
    }

    private Dispatcher start(
            TrafficPolicy ofShop, Filter first, AsyncInProcessHandler shop, AsyncInProcessHandler next) {
        DispatcherBuilder builder = Dispatcher.builder();
        for (String function : new String[] {"shop", "next"}) {
            // Copies are not copied, even if the function that gets them is copied, too.
            TrafficPolicy policy =
                    function.equals("shop") ? ofShop : copiedTo("shop").build();
            builder.function(FunctionOptions.builder(function).traffic(policy).build());
            builder.inProcess(function, function.equals("shop") ? shop : next, 10);
        }
        return builder.router(head -> RouteTarget.of("shop"))
                .filter(first)
                .filter(shadow)
                .filter(new HttpCache(1 << 20))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .observer(observer)
                .eventLoops(1)
                .start();
    }

    private static int get(Dispatcher dispatcher) throws Exception {
        return get(dispatcher, "/");
    }

    private static int get(Dispatcher dispatcher, String path) throws Exception {
        DispatchResponse response = dispatcher
                .dispatch(DispatchRequest.get(path).build())
                .toCompletableFuture()
                .get(10, TimeUnit.SECONDS);
        // A response that is not read is not stored.
        response.bodyAsString().toCompletableFuture().get(10, TimeUnit.SECONDS);
        return response.status();
    }

    private long results(String result) {
        return observer.filterEvents.stream()
                .map(FilterEvent::labels)
                .filter(labels -> result.equals(labels.get("result")))
                .count();
    }

    @Test
    void should_copy_requests_and_not_the_copies() throws Exception {
        try (Dispatcher dispatcher = start(copiedTo("next").build())) {
            assertThat(get(dispatcher)).isEqualTo(200);
            Await.until("a copy is compared", () -> results("same") == 1);
            Await.until("the copy has ended", () -> observer.ends.size() == 2);
            assertThat(served).containsExactly("shop null", "next shop");
            assertThat(observer.ends)
                    .extracting(end -> String.valueOf(end.shadowOf()))
                    .containsExactlyInAnyOrder("null", "shop");
        }
    }

    /** Responds with headers and a body that does not end, and takes all of the request. */
    private static CompletableFuture<DispatchResponse> begin(DispatchRequest request) {
        if (request.body() != null) {
            textOf(request);
        }
        return CompletableFuture.completedFuture(DispatchResponse.of(200, Map.of(), new Body()));
    }

    private static CompletionStage<String> textOf(DispatchRequest request) {
        return new DispatchResponse(200, List.of(), request.body(), () -> {}, new CompletableFuture<>()).bodyAsString();
    }

    /** A body that the test publishes. */
    private static final class Body implements Flow.Publisher<ByteBuf> {
        private volatile Flow.@Nullable Subscriber<? super ByteBuf> subscriber;

        @Override
        public void subscribe(Flow.Subscriber<? super ByteBuf> by) {
            by.onSubscribe(new Flow.Subscription() {
                @Override
                public void request(long more) {
                    subscriber = by;
                }

                @Override
                public void cancel() {}
            });
        }
    }

    private static DispatchResponse send(Dispatcher dispatcher, DispatchRequest.Builder request) throws Exception {
        return dispatcher.dispatch(request.build()).toCompletableFuture().get(10, TimeUnit.SECONDS);
    }

    @Test
    void should_cancel_the_copy_if_the_client_leaves() throws Exception {
        CompletableFuture<DispatchResponse> never = new CompletableFuture<>();
        AsyncInProcessHandler next = request -> {
            served.add("next");
            return never;
        };
        try (Dispatcher dispatcher =
                start(copiedTo("next").build(), request -> Decision.pass(), ShadowedDispatcherTest::begin, next)) {
            DispatchResponse response = send(dispatcher, DispatchRequest.get("/"));
            Await.until("the copy has arrived", () -> served.size() == 1);
            assertThat(shadow.running("shop").get()).isOne();
            response.discard();
            Await.until("the copy is cancelled", never::isCancelled);
            Await.until("all is reported", () -> observer.ends.size() == 2);
            assertThat(observer.ends).extracting(ExchangeEnd::outcome).containsOnly(Outcome.CANCELLED);
            assertThat(results("not_compared")).isOne();
            assertThat(shadow.running("shop").get()).isZero();
        }
    }

    /** They follow the end of the body, and so what completes the copy. */
    @Test
    void should_copy_the_trailers_of_a_request_that_is_answered_before_its_end() throws Exception {
        AsyncInProcessHandler next = request -> {
            textOf(request).thenCombine(request.trailers(), (text, trailers) -> served.add(text + " " + trailers));
            return new CompletableFuture<>();
        };
        TrafficPolicy copied = TrafficPolicy.builder()
                .extension(ShadowPolicy.class, ShadowPolicy.of("next", 1).withAllMethods())
                .build();
        try (Dispatcher dispatcher = start(copied, request -> Decision.pass(), ShadowedDispatcherTest::begin, next)) {
            Body body = new Body();
            Map<String, List<String>> trailers = Map.of("x-sum", List.of("6"));
            DispatchResponse response = send(
                    dispatcher,
                    DispatchRequest.post("/").body(body).trailers(CompletableFuture.completedFuture(trailers)));
            Await.until("the body is asked for", () -> body.subscriber != null);
            body.subscriber.onNext(Unpooled.copiedBuffer("abc", StandardCharsets.US_ASCII));
            body.subscriber.onComplete();
            assertThat(served.poll(10, TimeUnit.SECONDS)).isEqualTo("abc {x-sum=[6]}");
            response.discard();
        }
    }

    /** The filter is behind them. */
    @Test
    void should_not_copy_what_a_stored_response_answers() throws Exception {
        TrafficPolicy policy = copiedTo("next")
                .extension(CachePolicy.class, CachePolicy.builder("test").build())
                .build();
        try (Dispatcher dispatcher = start(policy)) {
            get(dispatcher);
            Await.until("a copy is compared", () -> results("same") == 1);
            assertThat(get(dispatcher)).isEqualTo(200);
            Await.until("all is reported", () -> observer.ends.size() == 3);
            assertThat(served).containsExactly("shop null", "next shop");
        }
    }

    /** What another filter refuses does not arrive, and what the function refuses has no answer. */
    @Test
    void should_not_copy_what_is_refused() throws Exception {
        AdmissionPolicy one = AdmissionPolicy.builder("test")
                .rateLimit(RateLimit.of(1, Duration.ofMinutes(10)))
                .build();
        Filter filter =
                request -> request.path().equals("/closed") ? Decision.answer(403, "not for you") : Decision.pass();
        try (Dispatcher dispatcher = start(copiedTo("next").admission(one).build(), filter)) {
            assertThat(get(dispatcher, "/closed")).isEqualTo(403);
            Await.until("it is reported", () -> observer.ends.size() == 1);
            assertThat(observer.filterEvents).isEmpty();
            assertThat(get(dispatcher)).isEqualTo(200);
            Await.until("a copy is compared", () -> results("same") == 1);
            assertThatThrownBy(() -> get(dispatcher)).hasMessageContaining("rate_limited");
            Await.until("it has no copy", () -> results("not_compared") == 1);
            assertThat(served).containsExactly("shop null", "next shop");
        }
    }

    @Test
    void should_copy_nothing_without_a_policy() throws Exception {
        try (Dispatcher dispatcher = start(TrafficPolicy.NEUTRAL)) {
            get(dispatcher);
            Await.until("it is reported", () -> observer.ends.size() == 1);
            assertThat(served).containsExactly("shop null");
            assertThat(observer.filterEvents).isEmpty();
        }
    }

    @Test
    void should_serve_the_client_if_there_is_no_such_function() throws Exception {
        try (Dispatcher dispatcher = start(copiedTo("other").build())) {
            assertThat(get(dispatcher)).isEqualTo(200);
            Await.until("the copy has failed", () -> results("failed") == 1);
            assertThat(served).containsExactly("shop null");
        }
    }
}
