package io.lambdadispatcher.shadow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.FilterEvent;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.BodyFilter;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.core.spi.RequestContext;
import io.lambdadispatcher.core.spi.ResponseFilter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ShadowTrafficTest {
    private static final ShadowPolicy ALL = ShadowPolicy.of("next", 1);

    private final AtomicLong nanos = new AtomicLong();
    private final ShadowTraffic shadow = new ShadowTraffic(nanos::get);

    /** Requests that filters send, in their order. */
    private final List<DispatchRequest> copies = new ArrayList<>();

    /** Their responses. */
    private final List<CompletableFuture<DispatchResponse>> responses = new ArrayList<>();

    private final List<FilterEvent> events = new ArrayList<>();

    /** Header fields that nobody changes. */
    private record Fields(Map<String, String> all) implements HeaderFields {
        @Override
        public @Nullable String get(String name) {
            return all.get(name);
        }

        @Override
        public List<String> getAll(String name) {
            return all.containsKey(name) ? List.of(all.get(name)) : List.of();
        }

        @Override
        public void set(String name, String value) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void add(String name, String value) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void remove(String name) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void forEach(BiConsumer<String, String> action) {
            all.forEach(action);
        }

        @Override
        public HeaderFields bytes() {
            return this;
        }

        @Override
        public HeaderFields copy() {
            return new Fields(new LinkedHashMap<>(all));
        }
    }

    /** A request for the function {@code shop}, and what its client and function do. */
    private final class Request implements RequestContext {
        final Map<String, String> fields = new LinkedHashMap<>();
        private final String method;
        private final boolean hasBody;
        private final ShadowPolicy policy;
        private @Nullable BodyFilter body;
        private @Nullable ResponseFilter response;

        Request(String method, boolean hasBody, ShadowPolicy policy) {
            this.method = method;
            this.hasBody = hasBody;
            this.policy = policy;
        }

        Request open() {
            Decision.Pass pass = (Decision.Pass) shadow.onRequest(this);
            body = pass.request();
            response = pass.response();
            return this;
        }

        boolean isCopied() {
            return response != null;
        }

        /** @return what its function gets */
        ByteBuf data(ByteBuf data) {
            return body == null ? data : body.onData(data);
        }

        void endBody() {
            if (body != null) {
                assertThat(body.onBodyEnd().isReadable()).isFalse();
            }
        }

        void respond(int status) {
            if (response != null) {
                response.onHead(status, new Fields(Map.of()));
            }
        }

        void end(@Nullable String failure) {
            if (response != null) {
                response.onEnd(failure);
            }
        }

        @Override
        public String method() {
            return method;
        }

        @Override
        public String scheme() {
            return "https";
        }

        @Override
        public String path() {
            return "/a?b=c";
        }

        @Override
        public void setPath(String path) {
            throw new UnsupportedOperationException();
        }

        @Override
        public String authority() {
            return "shop.example.org";
        }

        @Override
        public HeaderFields headers() {
            return new Fields(fields);
        }

        @Override
        public boolean hasBody() {
            return hasBody;
        }

        @Override
        public List<String> distinguishingHeaders() {
            return List.of();
        }

        @Override
        public @Nullable String sessionHeader() {
            return null;
        }

        @Override
        public boolean isBreakerOpen() {
            return false;
        }

        @Override
        public void fork(String its, Function<RequestContext, ResponseFilter> follower) {
            throw new UnsupportedOperationException();
        }

        @Override
        public SocketAddress remoteAddress() {
            return InetSocketAddress.createUnresolved("192.0.2.7", 1);
        }

        @Override
        public ClientProtocol protocol() {
            return ClientProtocol.HTTP_2;
        }

        @Override
        public String function() {
            return "shop";
        }

        @Override
        public <T> T policy(Class<T> type) {
            return type.cast(policy);
        }

        @Override
        public @Nullable Duration timeLeft() {
            return null;
        }

        @Override
        public Map<String, Object> attributes() {
            return new HashMap<>();
        }

        @Override
        public DispatchRequest.Builder copy() {
            DispatchRequest.Builder copy =
                    DispatchRequest.builder(method, path()).scheme(scheme()).authority(authority());
            fields.forEach(copy::header);
            return copy;
        }

        @Override
        public CompletionStage<DispatchResponse> send(String function, DispatchRequest request) {
            assertThat(function).isEqualTo("next");
            if (request.header("refused") != null) {
                return CompletableFuture.failedFuture(new IllegalArgumentException("for the test"));
            }
            copies.add(request);
            responses.add(new CompletableFuture<>());
            return responses.get(responses.size() - 1);
        }

        @Override
        public void report(FilterEvent event) {
            events.add(event);
        }
    }

    /** A body that the test publishes, and whose demand is unlimited. */
    private static final class Body implements Flow.Publisher<ByteBuf> {
        private Flow.@Nullable Subscriber<? super ByteBuf> subscriber;
        private long demand;
        private boolean cancelled;

        @Override
        public void subscribe(Flow.Subscriber<? super ByteBuf> by) {
            subscriber = by;
            by.onSubscribe(new Flow.Subscription() {
                @Override
                public void request(long more) {
                    demand = more;
                }

                @Override
                public void cancel() {
                    cancelled = true;
                }
            });
        }
    }

    private static DispatchResponse empty(int status) {
        return DispatchResponse.of(status, Map.of(), new byte[0]);
    }

    private static ByteBuf bytes(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII);
    }

    private static String bodyOf(DispatchRequest request) throws Exception {
        return new DispatchResponse(200, List.of(), request.body(), () -> {}, new CompletableFuture<>())
                .bodyAsString()
                .toCompletableFuture()
                .get(10, TimeUnit.SECONDS);
    }

    private Request open(String method, boolean hasBody, ShadowPolicy policy) {
        return new Request(method, hasBody, policy).open();
    }

    private List<String> results() {
        return events.stream()
                .filter(event -> event.name().equals("shadow.requests"))
                .map(event -> event.labels().get("result"))
                .toList();
    }

    private void pass(long millis) {
        nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
    }

    @Test
    void should_copy_a_request_and_drop_the_response_of_the_copy() {
        Request request = new Request("GET", false, ALL);
        request.fields.put("accept", "text/html");
        request.open();
        assertThat(copies).as("before its function has answered").isEmpty();
        pass(3);
        request.respond(200);
        request.end(null);
        assertThat(copies).singleElement().satisfies(copy -> {
            assertThat(copy.header(ShadowTraffic.HEADER)).isEqualTo("shop");
            assertThat(copy.header("accept")).isEqualTo("text/html");
            assertThat(copy.path()).isEqualTo("/a?b=c");
            assertThat(copy.method()).isEqualTo("GET");
            assertThat(copy.scheme()).isEqualTo("https");
            assertThat(copy.authority()).isEqualTo("shop.example.org");
            assertThat(copy.client()).as("that of the request").isNull();
            assertThat(copy.body()).isNull();
        });
        pass(4);
        Body body = new Body();
        responses.get(0).complete(DispatchResponse.of(204, Map.of(), body));

        assertThat(events)
                .extracting(FilterEvent::name, FilterEvent::labels, FilterEvent::nanos)
                .containsExactly(
                        tuple("shadow.requests", Map.of("shadow", "next", "result", "same"), -1L),
                        tuple("shadow.headers", Map.of("shadow", "next", "of", "function"), 3_000_000L),
                        tuple("shadow.headers", Map.of("shadow", "next", "of", "shadow"), 4_000_000L));
        assertThat(body.demand).isEqualTo(Long.MAX_VALUE);
        ByteBuf part = bytes("abc");
        body.subscriber.onNext(part);
        assertThat(part.refCnt()).isZero();
        assertThat(shadow.running("shop").get()).isOne();
        body.subscriber.onComplete();
        assertThat(shadow.running("shop").get()).isZero();
    }

    @Test
    void should_report_a_status_of_another_class() {
        Request request = open("GET", false, ALL);
        request.respond(404);
        responses.get(0).complete(empty(500));
        assertThat(results()).containsExactly("different");
        assertThat(shadow.running("shop").get()).isZero();
    }

    @Test
    void should_copy_a_body_and_its_trailers() throws Exception {
        Request request = open("POST", true, ALL.withAllMethods());
        ByteBuf part = bytes("abcd");
        assertThat(request.data(part)).as("what its function gets").isSameAs(part);
        assertThat(part.toString(StandardCharsets.US_ASCII)).isEqualTo("abcd");
        part.release();
        request.data(bytes("efg")).release();
        assertThat(request.body.heldBytes()).isEqualTo(7);
        request.endBody();
        request.body.onTrailers(new Fields(Map.of("x-sum", "1")));
        assertThat(copies).isEmpty();
        request.respond(200);

        assertThat(request.body.heldBytes()).isZero();
        DispatchRequest copy = copies.get(0);
        assertThat(bodyOf(copy)).isEqualTo("abcdefg");
        assertThat(copy.headers().get("content-length")).containsExactly("7");
        assertThat(copy.trailers().toCompletableFuture().join()).isEqualTo(Map.of("x-sum", List.of("1")));
    }

    @Test
    void should_copy_a_request_that_is_answered_before_its_end_when_it_is_complete() throws Exception {
        Request request = open("POST", true, ALL.withAllMethods());
        request.respond(200);
        request.data(bytes("abc")).release();
        assertThat(copies).isEmpty();
        request.endBody();
        assertThat(bodyOf(copies.get(0))).isEqualTo("abc");
        request.end(null);
        responses.get(0).complete(empty(200));
        assertThat(results()).containsExactly("same");
    }

    @Test
    void should_not_copy_a_body_that_is_too_large() {
        Request request = open("POST", true, ALL.withAllMethods());
        request.data(bytes("a".repeat(256 * 1024))).release();
        assertThat(request.body.heldBytes()).isEqualTo(256 * 1024);
        ByteBuf part = bytes("b");
        assertThat(request.data(part).refCnt()).isOne();
        part.release();
        assertThat(request.body.heldBytes()).isZero();
        assertThat(results()).containsExactly("lagged");
        assertThat(shadow.running("shop").get()).isZero();
        request.data(bytes("ghi")).release();
        request.endBody();
        request.respond(200);
        request.end(null);
        assertThat(copies).isEmpty();
        assertThat(results()).containsExactly("lagged");
        assertThat(shadow.running("shop").get()).isZero();
    }

    /** An overload must not spread. */
    @ParameterizedTest
    @CsvSource({"cancelled, false", "queue_full, false", "queue_full, true", "worker_lost, true"})
    void should_not_copy_a_request_that_is_not_answered(String failure, boolean hasBody) {
        Request request = open("POST", hasBody, ALL.withAllMethods());
        request.data(bytes("abc")).release();
        request.end(failure);
        assertThat(copies).isEmpty();
        assertThat(results()).containsExactly("not_compared");
        assertThat(shadow.running("shop").get()).isZero();
    }

    @Test
    void should_not_copy_a_request_that_is_answered_without_its_body() {
        Request request = open("POST", true, ALL.withAllMethods());
        request.data(bytes("abc")).release();
        request.respond(401);
        request.end(null);
        assertThat(copies).isEmpty();
        assertThat(results()).containsExactly("not_compared");
        assertThat(shadow.running("shop").get()).isZero();
    }

    @Test
    void should_report_a_copy_that_is_not_answered() {
        Request request = open("GET", false, ALL);
        request.respond(200);
        responses.get(0).completeExceptionally(new IllegalStateException("for the test"));
        assertThat(results()).containsExactly("failed");
        assertThat(shadow.running("shop").get()).isZero();
    }

    @Test
    void should_serve_the_client_if_the_copy_cannot_be_sent() {
        Request request = new Request("GET", false, ALL);
        request.fields.put("refused", "1");
        request.open();
        request.respond(200);
        assertThat(results()).containsExactly("failed");
        assertThat(shadow.running("shop").get()).isZero();
        request.end("cancelled");
        assertThat(shadow.running("shop").get()).isZero();
    }

    @Test
    void should_cancel_the_copy_if_the_client_leaves_before_it_is_answered() {
        Request request = open("GET", false, ALL);
        request.respond(200);
        request.end("cancelled");
        assertThat(responses.get(0)).isCancelled();
        assertThat(results()).containsExactly("not_compared");
        assertThat(shadow.running("shop").get()).isZero();
    }

    @Test
    void should_cancel_the_rest_of_the_copy_if_the_client_leaves() {
        Request request = open("GET", false, ALL);
        request.respond(200);
        Body body = new Body();
        responses.get(0).complete(DispatchResponse.of(200, Map.of(), body));
        assertThat(body.cancelled).isFalse();
        request.end("cancelled");
        assertThat(body.cancelled).isTrue();
        assertThat(shadow.running("shop").get()).isZero();
        body.subscriber.onError(new IllegalStateException("cancelled"));
        assertThat(shadow.running("shop").get()).isZero();
        assertThat(results()).containsExactly("same");
    }

    @Test
    void should_finish_the_copy_of_a_request_that_is_answered() {
        Request request = open("GET", false, ALL);
        request.respond(200);
        request.end(null);
        assertThat(responses.get(0)).isNotDone();
        assertThat(shadow.running("shop").get()).isOne();
    }

    @Test
    void should_limit_the_copies_in_flight() {
        Request first = open("GET", false, ALL);
        assertThat(first.isCopied()).isTrue();
        for (int i = 1; i < 100; i++) {
            assertThat(open("GET", false, ALL).isCopied()).isTrue();
        }
        assertThat(open("GET", false, ALL).isCopied()).isFalse();
        assertThat(results()).containsExactly("skipped");
        first.respond(200);
        responses.get(0).complete(empty(200));
        // The body of a response of a test is published when it is asked for.
        assertThat(open("GET", false, ALL).isCopied()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"POST", "PUT", "DELETE", "PATCH", "CONNECT"})
    void should_not_copy_methods_that_are_not_safe(String method) {
        assertThat(open(method, false, ALL).isCopied()).isFalse();
        assertThat(open(method, false, ALL.withAllMethods()).isCopied()).isEqualTo(!method.equals("CONNECT"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"GET", "HEAD", "OPTIONS", "TRACE"})
    void should_copy_methods_that_are_safe(String method) {
        assertThat(open(method, false, ALL).isCopied()).isTrue();
    }

    @Test
    void should_copy_a_share() {
        int copied = 0;
        for (int i = 0; i < 10_000; i++) {
            Request request = open("GET", false, ShadowPolicy.of("next", 0.1));
            copied += request.isCopied() ? 1 : 0;
            request.end("cancelled");
        }
        assertThat(copied).isBetween(800, 1200);
    }

    @Test
    void should_refuse_values_out_of_their_range() {
        assertThatThrownBy(() -> ShadowPolicy.of("next", 1.1)).hasMessage("share 1.1, expected 0 to 1");
        assertThatThrownBy(() -> ShadowPolicy.of("next", Double.NaN)).hasMessage("share NaN, expected 0 to 1");
    }
}
