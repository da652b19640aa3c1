package io.lambdadispatcher.shadow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.observe.FilterEvent;
import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.CachePolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.RateLimit;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.Await;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Shadow traffic in a dispatcher whose functions are served in this process. */
@Timeout(60)
class ShadowedDispatcherTest {
    private final RecordingObserver observer = new RecordingObserver();
    private final BlockingQueue<String> served = new LinkedBlockingQueue<>();

    private static TrafficPolicy.Builder copiedTo(String function) {
        return TrafficPolicy.builder().extension(ShadowPolicy.class, ShadowPolicy.of(function, 1));
    }

    private Dispatcher start(TrafficPolicy ofShop) {
        return start(ofShop, request -> Decision.pass());
    }

    private Dispatcher start(TrafficPolicy ofShop, Filter first) {
        DispatcherBuilder builder = Dispatcher.builder();
        for (String function : new String[] {"shop", "next"}) {
            // Copies are not copied, even if the function that gets them is copied, too.
            TrafficPolicy policy =
                    function.equals("shop") ? ofShop : copiedTo("shop").build();
            builder.function(FunctionOptions.builder(function).traffic(policy).build());
            builder.inProcess(
                    function,
                    request -> {
                        served.add(function + " " + request.headers().get(ShadowTraffic.HEADER));
                        return CompletableFuture.completedFuture(
                                DispatchResponse.of(200, Map.of("cache-control", "max-age=60"), new byte[10]));
                    },
                    10);
        }
        return builder.router(head -> RouteTarget.of("shop"))
                .filter(first)
                .filter(new ShadowTraffic())
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

    /** The filter is behind them. */
    @Test
    void should_not_copy_what_a_stored_response_answers() throws Exception {
        TrafficPolicy policy =
                copiedTo("next").cache(CachePolicy.builder("test").build()).build();
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
