package io.lambdadispatcher.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.observe.FilterEvent;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.DirectEventFormat;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.RateLimit;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.AsyncInProcessHandler;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.FunctionInvoker.InvokeResult;
import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.core.spi.RequestContext;
import io.lambdadispatcher.core.spi.ResponseFilter;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.util.AsciiString;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Filters in a dispatcher whose functions are invoked directly. */
@EachRelease
@Timeout(60)
class FilterTest {
    private static final TrafficPolicy POLICY = TrafficPolicy.builder()
            .extension(Keep.class, new Keep("test"))
            .admission(AdmissionPolicy.builder("test")
                    .rateLimit(RateLimit.of(1, Duration.ofMinutes(10)))
                    .build())
            .build();

    private final Queue<String> invoked = new ConcurrentLinkedQueue<>();

    private DispatcherBuilder builder() {
        return Dispatcher.builder()
                .function(FunctionOptions.of("shop"))
                .function(FunctionOptions.of("auth"))
                .router(head -> new RouteTarget(head.path().toString().substring(1), POLICY))
                .direct("shop", DirectOptions.of(DirectEventFormat.ALB))
                .direct("auth", DirectOptions.of(DirectEventFormat.ALB))
                .invoker((function, event) -> {
                    invoked.add(function);
                    boolean refused = new String(event, StandardCharsets.UTF_8).contains("wrong");
                    String answer = "{\"statusCode\":" + (refused ? 401 : 200)
                            + ",\"headers\":{\"cache-control\":\"max-age=60\"},\"body\":\"of " + function + "\"}";
                    return CompletableFuture.completedFuture(
                            new InvokeResult(200, null, answer.getBytes(StandardCharsets.UTF_8)));
                })
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .filter(new Keeping())
                .eventLoops(1);
    }

    private static DispatchResponse ask(Dispatcher dispatcher, DispatchRequest.Builder request) throws Exception {
        return dispatcher
                .dispatch(request.client("c").build())
                .toCompletableFuture()
                .get(10, TimeUnit.SECONDS);
    }

    private static int status(Dispatcher dispatcher, DispatchRequest.Builder request) throws Exception {
        DispatchResponse response = ask(dispatcher, request);
        response.discard();
        return response.status();
    }

    private static DispatchRequest.Builder get(String key) {
        return DispatchRequest.get("/shop").header("x-key", key);
    }

    /** Requests of these routes are answered with what was kept. */
    private record Keep(String why) {}

    /** Keeps the first response to a GET request, and answers later requests with it. */
    private static final class Keeping implements Filter {
        private volatile @Nullable Supplier<Decision> kept;

        @Override
        public Phase phase() {
            return Phase.STORE;
        }

        @Override
        public Class<?> policyType() {
            return Keep.class;
        }

        @Override
        public Decision onRequest(RequestContext request) {
            if (!request.method().equals("GET") || !request.path().equals("/shop")) {
                return Decision.pass();
            }
            Supplier<Decision> its = kept;
            return its != null
                    ? its.get()
                    : Decision.pass(new ResponseFilter() {
                        private final ByteArrayOutputStream body = new ByteArrayOutputStream();
                        private int status;
                        private HeaderFields headers;

                        @Override
                        public void onHead(int its, HeaderFields fields) {
                            status = its;
                            headers = fields.copy();
                        }

                        @Override
                        public ByteBuf onData(ByteBuf data) {
                            body.writeBytes(ByteBufUtil.getBytes(data));
                            return data;
                        }

                        @Override
                        public void onEnd(String failure) {
                            if (failure == null) {
                                kept = () ->
                                        Decision.answer(status, headers.copy(), body.toByteArray(), Substitute.CACHE);
                            }
                        }
                    });
        }
    }

    /** Asks a function whether a request may pass. */
    private static final class Authorization implements Filter {
        @Override
        public Phase phase() {
            return Phase.AUTHENTICATE;
        }

        @Override
        public Decision onRequest(RequestContext request) {
            String key = request.headers().get("x-key");
            if (key == null) {
                return Decision.answer(401, "a key is missing");
            }
            request.headers().remove("x-key");
            DispatchRequest question =
                    DispatchRequest.get("/check").header("x-key", key).build();
            return Decision.later(request.send("auth", question).thenApply(answer -> {
                answer.discard();
                return answer.status() == 200 ? Decision.pass() : Decision.answer(403, "not for this key");
            }));
        }
    }

    /** A copy has what the function gets, byte by byte. */
    @Test
    void should_send_a_copy_of_a_request() throws Exception {
        AsciiString bytes = new AsciiString(new byte[] {'a', (byte) 0xE9, (byte) 0x80}, false);
        Map<String, DispatchRequest> seen = new ConcurrentHashMap<>();
        DispatcherBuilder builder = Dispatcher.builder()
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .filter(request -> {
                    request.headers().set("x-by", "the filter");
                    CompletionStage<DispatchResponse> copied =
                            request.send("auth", request.copy().build());
                    return Decision.later(copied.thenApply(answer -> {
                        answer.discard();
                        return Decision.pass();
                    }));
                })
                .router(head -> RouteTarget.of("shop"));
        for (String function : List.of("shop", "auth")) {
            builder.function(FunctionOptions.of(function))
                    .inProcess(
                            function,
                            (AsyncInProcessHandler) request -> {
                                seen.put(function, request);
                                return CompletableFuture.completedStage(
                                        DispatchResponse.of(200, Map.of(), new byte[0]));
                            },
                            1);
        }
        try (Dispatcher dispatcher = builder.start()) {
            DispatchRequest.Builder request = DispatchRequest.builder(
                            "POST", new AsciiString(new byte[] {'/', 'a', '?', (byte) 0xE9}, false))
                    .authority("shop.example:81")
                    .scheme("https")
                    .header("x-raw", bytes)
                    .header("x-many", "1")
                    .header("x-many", "2")
                    .body("text");
            assertThat(status(dispatcher, request)).isEqualTo(200);
            DispatchRequest own = seen.get("shop");
            DispatchRequest copy = seen.get("auth");
            assertThat(copy.method()).isEqualTo("POST").isEqualTo(own.method());
            assertThat(copy.path()).isEqualTo("/a?\u00e9").isEqualTo(own.path());
            assertThat(copy.authority()).isEqualTo("shop.example:81").isEqualTo(own.authority());
            assertThat(copy.scheme()).isEqualTo("https").isEqualTo(own.scheme());
            assertThat(copy.body()).isNull();
            Map<String, List<String>> fields = new LinkedHashMap<>(own.headers());
            assertThat(fields.remove("content-length")).containsExactly("4");
            assertThat(copy.headers()).isEqualTo(fields).containsEntry("x-by", List.of("the filter"));
            copy.forEachHeader((name, value) -> {
                if (name.toString().equals("x-raw")) {
                    assertThat(AsciiString.contentEquals(value, bytes)).isTrue();
                }
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"nowhere", "auth"})
    void should_fail_the_stage_of_a_request_that_cannot_be_sent(String to) throws Exception {
        Filter asking = request -> {
            DispatchRequest.Builder question = DispatchRequest.get("/");
            if (to.equals("auth")) {
                question.header("content-length", "seven");
            }
            return Decision.later(request.send(to, question.build())
                    .handle((answer, error) -> Decision.answer(error == null ? 200 : 418, "")));
        };
        try (Dispatcher dispatcher = builder().filter(asking).start()) {
            assertThat(status(dispatcher, get("right"))).isEqualTo(418);
        }
    }

    /** A close waits for the decision within its grace, and no request is left without an end. */
    @Test
    void should_close_while_a_filter_decides() throws Exception {
        for (boolean decides : List.of(true, false)) {
            CompletableFuture<Decision> decision = new CompletableFuture<>();
            CountDownLatch asked = new CountDownLatch(1);
            Dispatcher dispatcher = builder()
                    .filter("shop", request -> {
                        asked.countDown();
                        return Decision.later(decision);
                    })
                    .start();
            CompletableFuture<DispatchResponse> response =
                    dispatcher.dispatch(get("k").client("c").build()).toCompletableFuture();
            assertThat(asked.await(10, TimeUnit.SECONDS)).isTrue();
            CompletableFuture<Void> closed = dispatcher
                    .close(decides ? Duration.ofSeconds(20) : Duration.ofMillis(200))
                    .toCompletableFuture();
            if (decides) {
                decision.complete(Decision.answer(204, ""));
                assertThat(response.get(10, TimeUnit.SECONDS).status()).isEqualTo(204);
                response.join().discard();
            } else {
                assertThatThrownBy(() -> response.get(10, TimeUnit.SECONDS))
                        .hasMessageContaining("the dispatcher shuts down");
            }
            closed.get(10, TimeUnit.SECONDS);
        }
    }

    /** A filter that counts how often it is closed, and fails then. */
    private static final class Closing implements Filter {
        private final AtomicInteger closed = new AtomicInteger();
        private final AtomicInteger running = new AtomicInteger();

        @Override
        public Decision onRequest(RequestContext request) {
            running.incrementAndGet();
            return Decision.pass(new ResponseFilter() {
                @Override
                public void onEnd(@Nullable String failure) {
                    running.decrementAndGet();
                }
            });
        }

        @Override
        public void close() {
            assertThat(Thread.currentThread().getName()).isEqualTo("dispatcher-close");
            closed.addAndGet(running.get() == 0 ? 1 : 100);
            throw new IllegalStateException("for the test");
        }
    }

    @Test
    void should_close_each_filter_once_after_its_last_request() throws Exception {
        Closing first = new Closing();
        Closing second = new Closing();
        CountDownLatch asked = new CountDownLatch(1);
        Dispatcher dispatcher = builder()
                .invoker((function, event) -> {
                    asked.countDown();
                    return new CompletableFuture<>();
                })
                .filter(first)
                .filter("shop", second)
                .filter("auth", second)
                .start();
        CompletableFuture<DispatchResponse> response =
                dispatcher.dispatch(get("k").client("c").build()).toCompletableFuture();
        assertThat(asked.await(10, TimeUnit.SECONDS)).isTrue();
        assertThat(first.running).hasValue(1);
        assertThat(first.closed).hasValue(0);
        dispatcher.close(Duration.ZERO).toCompletableFuture().get(20, TimeUnit.SECONDS);
        assertThat(response).isCompletedExceptionally();
        assertThat(first.closed).hasValue(1);
        assertThat(second.closed).hasValue(1);
    }

    /** The function never ends its response, but the client has all of another one. */
    @Test
    void should_cancel_a_function_whose_endless_response_is_replaced() throws Exception {
        RecordingObserver observer = new RecordingObserver();
        AsyncInProcessHandler endless = request -> CompletableFuture.completedStage(
                DispatchResponse.of(200, Map.of("content-type", "text/event-stream"), to -> {}));
        Filter filter = request -> Decision.pass(new ResponseFilter() {
            @Override
            public Decision.Answer replace(int status, @Nullable String failure) {
                return Decision.answer(403, "no events for you");
            }
        });
        try (Dispatcher dispatcher = Dispatcher.builder()
                .function(FunctionOptions.of("shop"))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .inProcess("shop", endless, 1)
                .filter(filter)
                .observer(observer)
                .start()) {
            assertThat(status(dispatcher, get("k"))).isEqualTo(403);
            assertThat(observer.ends.poll(10, TimeUnit.SECONDS)).satisfies(end -> {
                assertThat(end.substitute()).isEqualTo(Substitute.FILTER);
                assertThat(end.outcome()).as("the client has not left").isEqualTo(Outcome.COMPLETED);
            });
        }
    }

    /** The status is that of the client's response, and not of the function's. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void should_report_what_a_client_gets_whose_filter_fails(boolean inHead) throws Exception {
        RecordingObserver observer = new RecordingObserver();
        Filter filter = request -> Decision.pass(new ResponseFilter() {
            @Override
            public void onHead(int status, HeaderFields headers) {
                if (inHead) {
                    throw new IllegalStateException("for the test");
                }
            }

            @Override
            public ByteBuf onBodyEnd() {
                throw new IllegalStateException("for the test");
            }
        });
        try (Dispatcher dispatcher = builder().filter(filter).observer(observer).start()) {
            assertThatThrownBy(() -> ask(dispatcher, get("k"))
                            .bodyAsString()
                            .toCompletableFuture()
                            .get(10, TimeUnit.SECONDS))
                    .hasMessageContaining("filter_failed");
        }
        assertThat(observer.ends).singleElement().satisfies(end -> {
            assertThat(end.failure()).isEqualTo("filter_failed");
            assertThat(end.outcome()).isEqualTo(Outcome.FAILED);
            assertThat(end.status()).isEqualTo(inHead ? 500 : 200);
        });
    }

    @Test
    void should_fail_a_response_whose_filter_returns_nothing() throws Exception {
        Filter filter = request -> Decision.pass(new ResponseFilter() {
            @Override
            public ByteBuf onData(ByteBuf data) {
                data.release();
                return null;
            }
        });
        try (Dispatcher dispatcher = builder().filter(filter).start()) {
            assertThatThrownBy(() -> ask(dispatcher, get("k"))
                            .bodyAsString()
                            .toCompletableFuture()
                            .get(10, TimeUnit.SECONDS))
                    .hasMessageContaining("filter_failed");
        }
    }

    @Test
    void should_keep_refused_requests_from_the_cache_and_the_limit() throws Exception {
        try (Dispatcher dispatcher = builder().filter(new Authorization()).start()) {
            assertThat(status(dispatcher, DispatchRequest.get("/shop"))).isEqualTo(401);
            assertThat(invoked).isEmpty();
            assertThat(status(dispatcher, get("wrong"))).isEqualTo(403);
            assertThat(invoked).containsExactly("auth");
            DispatchResponse response = ask(dispatcher, get("right"));
            assertThat(response.bodyAsString().toCompletableFuture().get(10, TimeUnit.SECONDS))
                    .isEqualTo("of shop");
            assertThat(invoked).containsExactly("auth", "auth", "shop");
            // Stored, so that it needs no share of the limit.
            assertThat(status(dispatcher, get("right"))).isEqualTo(200);
            assertThat(status(dispatcher, get("wrong"))).isEqualTo(403);
            assertThat(invoked).containsExactly("auth", "auth", "shop", "auth", "auth");
            assertThatThrownBy(
                            () -> ask(dispatcher, DispatchRequest.post("/shop").header("x-key", "right")))
                    .hasMessageContaining("rate_limited");
        }
    }

    @Test
    void should_serve_one_function_only() throws Exception {
        Filter filter = request -> Decision.answer(403, request.function() + " " + request.path());
        try (Dispatcher dispatcher = builder().filter("auth", filter).start()) {
            assertThat(status(dispatcher, get("right"))).isEqualTo(200);
            assertThat(ask(dispatcher, DispatchRequest.get("/auth"))
                            .bodyAsString()
                            .toCompletableFuture()
                            .get(10, TimeUnit.SECONDS))
                    .isEqualTo("auth /auth");
        }
    }

    @Test
    void should_rewrite_before_the_router() throws Exception {
        Filter rewrite = new Filter() {
            @Override
            public Decision onRequest(RequestContext request) {
                request.setPath("/shop");
                return Decision.pass();
            }

            @Override
            public Phase phase() {
                return Phase.REWRITE;
            }
        };
        try (Dispatcher dispatcher = builder().filter(rewrite).start()) {
            assertThat(status(dispatcher, DispatchRequest.get("/old"))).isEqualTo(200);
            assertThat(invoked).containsExactly("shop");
        }
    }

    /** What the policies of some routes say to a filter. */
    private record Quota(int number) {}

    /** Reports each request that passes through it. */
    private record Counted(Phase phase, Class<?> policyType) implements Filter {
        @Override
        public Decision onRequest(RequestContext request) {
            Quota quota = request.policy(Quota.class);
            request.report(FilterEvent.counted(
                    "counted", "Requests", Map.of("quota", quota == null ? "none" : "" + quota.number())));
            return Decision.pass();
        }
    }

    private List<String> reported(Filter filter, TrafficPolicy policy) throws Exception {
        RecordingObserver observer = new RecordingObserver();
        try (Dispatcher dispatcher = builder()
                .router(head -> new RouteTarget(head.path().toString().substring(1), policy))
                .filter(filter)
                .observer(observer)
                .start()) {
            assertThat(status(dispatcher, get("k"))).isEqualTo(200);
            assertThat(status(dispatcher, get("k"))).isEqualTo(200);
        }
        return observer.filterEvents.stream()
                .map(event -> event.labels().get("quota"))
                .toList();
    }

    @ParameterizedTest
    @EnumSource(
            value = Filter.Phase.class,
            names = {"ANSWER", "OBSERVE", "FORWARD"})
    void should_pass_by_a_filter_whose_policy_the_route_does_not_have(Filter.Phase phase) throws Exception {
        Filter filter = new Counted(phase, Quota.class);
        TrafficPolicy none = TrafficPolicy.NEUTRAL;
        assertThat(reported(filter, none)).isEmpty();
        // Stored responses, so that the requests go the long way without the policy.
        assertThat(reported(filter, POLICY)).isEmpty();
        TrafficPolicy policy =
                none.toBuilder().extension(Quota.class, new Quota(7)).build();
        assertThat(policy.toBuilder().build().extension(Quota.class)).isEqualTo(new Quota(7));
        assertThat(policy.withoutFilters().extension(Quota.class)).isNull();
        assertThat(reported(filter, policy)).containsExactly("7", "7");
        assertThat(reported(new Counted(phase, null), none)).containsExactly("none", "none");
    }

    @Test
    void should_show_only_what_goes_to_the_function_to_a_filter_that_forwards() throws Exception {
        TrafficPolicy stored =
                TrafficPolicy.builder().extension(Keep.class, new Keep("test")).build();
        assertThat(reported(new Counted(Filter.Phase.OBSERVE, null), stored)).hasSize(2);
        assertThat(reported(new Counted(Filter.Phase.FORWARD, null), stored)).hasSize(1);
    }

    @Test
    void should_reject_a_filter_of_no_function() {
        assertThatThrownBy(() ->
                        builder().filter("nothing", request -> Decision.pass()).start())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("nothing");
    }
}
