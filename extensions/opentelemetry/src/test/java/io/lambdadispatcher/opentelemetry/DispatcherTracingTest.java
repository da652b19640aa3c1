package io.lambdadispatcher.opentelemetry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.entry;

import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.baggage.propagation.W3CBaggagePropagator;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.context.propagation.TextMapPropagator;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@EachRelease
class DispatcherTracingTest {
    private static final long MS = 1_000_000;
    private static final String PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-";

    private final InMemorySpanExporter exporter = InMemorySpanExporter.create();
    private final SdkTracerProvider tracers = SdkTracerProvider.builder()
            .setSampler(Sampler.alwaysOn())
            .addSpanProcessor(SimpleSpanProcessor.create(exporter))
            .build();
    private final OpenTelemetrySdk sdk = OpenTelemetrySdk.builder()
            .setTracerProvider(tracers)
            .setPropagators(ContextPropagators.create(W3CTraceContextPropagator.getInstance()))
            .build();
    private final List<DispatcherTracing> opened = new ArrayList<>();
    private final DispatcherTracing all = tracing(sdk, 1, true);
    private final DispatcherTracing none = tracing(sdk, 0, true);

    private DispatcherTracing tracing(OpenTelemetry openTelemetry, double ratio, boolean callersDecide) {
        DispatcherTracing tracing = new DispatcherTracing(openTelemetry, ratio, callersDecide);
        opened.add(tracing);
        return tracing;
    }

    /** Returns all spans of requests that have ended. */
    private List<SpanData> spans() {
        opened.forEach(DispatcherTracing::close);
        return exporter.getFinishedSpanItems();
    }

    @AfterEach
    void close() {
        opened.forEach(DispatcherTracing::close);
        sdk.close();
    }

    private record Start(@Nullable String function, Http2Headers headers) implements ExchangeStart {
        @Override
        public SocketAddress remoteAddress() {
            return new InetSocketAddress("192.0.2.1", 4711);
        }

        @Override
        public ClientProtocol protocol() {
            return ClientProtocol.HTTP_2;
        }
    }

    private record End(
            Http2Headers headers,
            int status,
            Outcome outcome,
            @Nullable String failure,
            @Nullable WaitReason waitReason,
            @Nullable String workerId,
            int attempts,
            long handlerWaitNanos,
            long handlerNanos)
            implements ExchangeEnd {
        @Override
        public String function() {
            return "orders";
        }

        @Override
        public SocketAddress remoteAddress() {
            return new InetSocketAddress("192.0.2.1", 4711);
        }

        @Override
        public ClientProtocol protocol() {
            return ClientProtocol.HTTP_2;
        }

        @Override
        public long requestBytes() {
            return 10;
        }

        @Override
        public long responseBytes() {
            return 20;
        }

        @Override
        public long queueNanos() {
            return 5 * MS;
        }

        @Override
        public long totalNanos() {
            return 100 * MS;
        }
    }

    private static Http2Headers request(String method) {
        return new DefaultHttp2Headers()
                .method(method)
                .scheme("https")
                .authority("[2001:db8::1]:8443")
                .path("/orders?secret");
    }

    private static End completed(Http2Headers headers, @Nullable String worker) {
        return new End(headers, 200, Outcome.COMPLETED, null, null, worker, 1, MS, 40 * MS);
    }

    private List<String> names() {
        return spans().stream().map(SpanData::getName).toList();
    }

    private SpanData span(String name) {
        return spans().stream()
                .filter(span -> span.getName().equals(name))
                .findFirst()
                .orElseThrow(() -> new AssertionError(name + " is not in " + names()));
    }

    @Test
    void should_place_the_handler_in_the_middle_of_the_attempt() {
        Http2Headers headers = request("POST");
        ExchangeListener trace = all.onExchangeStart(new Start("orders", headers));
        assertThat(trace).isNotNull();
        trace.onAttempt(1, headers);
        trace.onEnd(completed(headers, "w-1"));

        assertThat(names()).containsExactly("handler", "attempt", "POST orders");
        SpanData attempt = span("attempt");
        SpanData handler = span("handler");
        assertThat(handler.getParentSpanId()).isEqualTo(attempt.getSpanId());
        assertThat(handler.getEndEpochNanos() - handler.getStartEpochNanos()).isEqualTo(40 * MS);
        long before = handler.getStartEpochNanos() - attempt.getStartEpochNanos() - MS;
        long after = attempt.getEndEpochNanos() - handler.getEndEpochNanos();
        assertThat(Math.abs(before - after)).isLessThanOrEqualTo(1);
        assertThat(headers.get("traceparent").toString())
                .startsWith("00-" + attempt.getTraceId() + "-" + attempt.getSpanId() + "-0");
        SpanData request = span("POST orders");
        assertThat(request.getEndEpochNanos() - request.getStartEpochNanos()).isEqualTo(100 * MS);
        assertThat(request.getAttributes().get(TraceAttributes.SERVER_ADDRESS)).isEqualTo("[2001:db8::1]");
        assertThat(request.getAttributes().get(TraceAttributes.SERVER_PORT)).isEqualTo(8443);
        assertThat(request.getAttributes().get(TraceAttributes.PEER_ADDRESS)).isEqualTo("192.0.2.1");
        assertThat(request.getAttributes().get(TraceAttributes.PATH)).isEqualTo("/orders");
        assertThat(request.getAttributes().get(TraceAttributes.PROTOCOL_VERSION))
                .isEqualTo("2");
    }

    @Test
    void should_show_each_attempt() {
        Http2Headers headers = request("GET");
        ExchangeListener trace = all.onExchangeStart(new Start("orders", headers));
        trace.onAttempt(1, headers);
        trace.onAttemptFailed(1, "w-1", "worker_lost");
        trace.onAttempt(2, headers);
        trace.onEnd(new End(headers, 200, Outcome.COMPLETED, null, WaitReason.ALL_BUSY, "w-2", 2, -1, -1));

        assertThat(names()).containsExactly("attempt", "queue", "attempt", "GET orders");
        SpanData failed = spans().get(0);
        assertThat(failed.getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
        assertThat(failed.getAttributes().get(TraceAttributes.ERROR_TYPE)).isEqualTo("worker_lost");
        assertThat(failed.getAttributes().get(TraceAttributes.WORKER)).isEqualTo("w-1");
        SpanData second = spans().get(2);
        assertThat(second.getAttributes().get(TraceAttributes.RESEND_COUNT)).isEqualTo(1);
        assertThat(second.getStatus().getStatusCode()).isEqualTo(StatusCode.UNSET);
        assertThat(span("queue").getAttributes().get(TraceAttributes.WAIT_REASON))
                .isEqualTo("all_busy");
    }

    /** The dispatcher drops the hedge without a report. */
    @Test
    void should_give_the_end_to_the_first_attempt_if_its_hedge_is_still_in_flight() {
        Http2Headers headers = request("GET");
        ExchangeListener trace = all.onExchangeStart(new Start("orders", headers));
        trace.onAttempt(1, headers);
        trace.onAttempt(2, headers);
        trace.onEnd(new End(headers, 504, Outcome.FAILED, "timeout", null, "w-1", 2, -1, -1));

        assertThat(names()).containsExactly("attempt", "attempt", "GET orders");
        SpanData hedge = spans().get(0);
        assertThat(hedge.getAttributes().get(TraceAttributes.RESEND_COUNT)).isEqualTo(1);
        assertThat(hedge.getAttributes().get(TraceAttributes.WORKER)).isNull();
        assertThat(hedge.getStatus().getStatusCode()).isEqualTo(StatusCode.UNSET);
        SpanData first = spans().get(1);
        assertThat(first.getAttributes().get(TraceAttributes.WORKER)).isEqualTo("w-1");
        assertThat(first.getAttributes().get(TraceAttributes.ERROR_TYPE)).isEqualTo("timeout");
    }

    @Test
    void should_show_each_of_several_hedges() {
        Http2Headers headers = request("GET");
        ExchangeListener trace = all.onExchangeStart(new Start("orders", headers));
        trace.onAttempt(1, headers);
        trace.onAttempt(2, headers);
        trace.onAttempt(3, headers);
        trace.onAttemptFailed(1, "w-1", "slower");
        trace.onAttemptFailed(2, "w-2", "slower");
        trace.onEnd(new End(headers, 200, Outcome.COMPLETED, null, null, "w-3", 3, -1, -1));

        assertThat(names()).containsExactly("attempt", "attempt", "attempt", "GET orders");
        assertThat(spans().subList(0, 3))
                .extracting(span -> span.getAttributes().get(TraceAttributes.WORKER))
                .containsExactly("w-1", "w-2", "w-3");
        assertThat(spans().get(2).getAttributes().get(TraceAttributes.RESEND_COUNT))
                .isEqualTo(2);
    }

    /** No worker stream was free for it, and the request waited until its time was over. */
    @Test
    void should_end_an_attempt_that_found_its_worker_full() {
        Http2Headers headers = request("GET");
        ExchangeListener trace = all.onExchangeStart(new Start("orders", headers));
        trace.onAttempt(1, headers);
        trace.onEnd(new End(headers, 503, Outcome.FAILED, "queue_timeout", WaitReason.ALL_BUSY, null, 0, -1, -1));

        SpanData attempt = span("attempt");
        assertThat(attempt.getEndEpochNanos()).isEqualTo(attempt.getStartEpochNanos());
        assertThat(attempt.getStatus().getStatusCode()).isEqualTo(StatusCode.UNSET);
    }

    @Test
    void should_show_a_request_that_reached_no_worker() {
        Http2Headers headers = request("BREW");
        ExchangeListener trace = all.onExchangeStart(new Start(null, headers));
        trace.onEnd(new End(headers, 404, Outcome.FAILED, "no_function", null, null, 0, -1, -1));

        SpanData request = span("HTTP");
        assertThat(request.getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
        assertThat(request.getAttributes().get(TraceAttributes.METHOD)).isEqualTo("_OTHER");
        assertThat(request.getAttributes().get(TraceAttributes.METHOD_ORIGINAL)).isEqualTo("BREW");
        assertThat(request.getAttributes().get(TraceAttributes.ERROR_TYPE)).isEqualTo("no_function");
        assertThat(request.getAttributes().get(TraceAttributes.OUTCOME)).isEqualTo("failed");
    }

    /** Each character of a header is a byte. RFC 9110 section 5.5. */
    @Test
    void should_show_headers_as_text() {
        Http2Headers headers = request("GET")
                .path(HeaderText.encode("/caf\u00e9?secret"))
                .authority(HeaderText.encode("b\u00fccher.example"))
                .set("user-agent", HeaderText.encode("Zo\u00eb \u2603"));
        all.onExchangeStart(new Start("orders", headers)).onEnd(completed(headers, "w-1"));

        Attributes shown = span("GET orders").getAttributes();
        assertThat(shown.get(TraceAttributes.PATH)).isEqualTo("/caf\u00e9");
        assertThat(shown.get(TraceAttributes.SERVER_ADDRESS)).isEqualTo("b\u00fccher.example");
        assertThat(shown.get(TraceAttributes.USER_AGENT)).isEqualTo("Zo\u00eb \u2603");
    }

    /** An embedding program can have the propagator of baggage. */
    @Test
    void should_keep_all_values_of_repeated_headers() {
        OpenTelemetrySdk withBaggage = OpenTelemetrySdk.builder()
                .setTracerProvider(tracers)
                .setPropagators(ContextPropagators.create(TextMapPropagator.composite(
                        W3CTraceContextPropagator.getInstance(), W3CBaggagePropagator.getInstance())))
                .build();
        Http2Headers headers = request("GET")
                .add("traceparent", PARENT + "01")
                .add("tracestate", "a=1")
                .add("tracestate", "b=2,c=3")
                .add("baggage", "x=1")
                .add("baggage", "y=2");
        ExchangeListener trace = tracing(withBaggage, 0, true).onExchangeStart(new Start("orders", headers));
        trace.onAttempt(1, headers);
        trace.onEnd(completed(headers, "w-1"));

        assertThat(span("GET orders").getSpanContext().getTraceState().asMap())
                .containsExactly(entry("a", "1"), entry("b", "2"), entry("c", "3"));
        assertThat(headers.getAll("tracestate")).singleElement().hasToString("a=1,b=2,c=3");
        assertThat(headers.getAll("baggage")).singleElement().hasToString("x=1,y=2");
    }

    @ParameterizedTest
    @CsvSource({"01, true", "00, false", "03, true"})
    void should_follow_the_caller(String flags, boolean traced) {
        for (DispatcherTracing tracing : List.of(all, none)) {
            Http2Headers headers = request("GET").add("traceparent", PARENT + flags);
            ExchangeListener trace = tracing.onExchangeStart(new Start("orders", headers));
            assertThat(trace != null).isEqualTo(traced);
            assertThat(headers.get("traceparent")).hasToString(PARENT + flags);
        }
    }

    @Test
    void should_not_let_callers_decide_that_are_not_trusted() {
        Http2Headers headers = request("GET").add("traceparent", PARENT + "01");
        assertThat(tracing(sdk, 0, false).onExchangeStart(new Start("orders", headers)))
                .isNull();
        headers = request("GET").add("traceparent", PARENT + "00");
        ExchangeListener trace = tracing(sdk, 1, false).onExchangeStart(new Start("orders", headers));
        trace.onEnd(completed(headers, "w-1"));
        assertThat(span("GET orders").getParentSpanId()).isEqualTo("00f067aa0ba902b7");
    }

    @Test
    void should_decide_itself_if_the_parent_is_malformed() {
        Http2Headers headers = request("GET").add("traceparent", "00-0-0-01");
        assertThat(all.onExchangeStart(new Start("orders", headers))).isNotNull();
        assertThat(none.onExchangeStart(new Start("orders", headers))).isNull();
    }

    /** W3C Trace Context deletes the tracestate with a traceparent that cannot be parsed. */
    @ParameterizedTest
    @ValueSource(strings = {"", "00-0-0-01"})
    void should_drop_a_tracestate_without_a_valid_parent(String parent) {
        Http2Headers headers = request("GET").add("tracestate", "a=1");
        if (!parent.isEmpty()) {
            headers.add("traceparent", parent);
        }
        ExchangeListener trace = all.onExchangeStart(new Start("orders", headers));
        trace.onAttempt(1, headers);
        trace.onEnd(completed(headers, "w-1"));

        assertThat(headers.contains("tracestate")).isFalse();
        assertThat(headers.getAll("traceparent"))
                .singleElement()
                .asString()
                .contains(span("attempt").getSpanId());
    }

    @Test
    void should_trace_a_part_of_the_requests() {
        DispatcherTracing tenth = tracing(sdk, 0.1, true);
        int traced = 0;
        for (int i = 0; i < 10_000; i++) {
            traced += tenth.onExchangeStart(new Start("orders", request("GET"))) == null ? 0 : 1;
        }
        assertThat(traced).isBetween(800, 1200);
    }

    @Test
    void should_link_an_attempt_with_the_launch_of_its_worker() {
        all.onLaunch("orders", "w-1", "minimum");
        all.onWorkerConnected("orders", "w-1", new InetSocketAddress(1), 10);
        all.onWorkerConnected("orders", "w-1", new InetSocketAddress(2), 10);
        Http2Headers headers = request("GET");
        ExchangeListener trace = all.onExchangeStart(new Start("orders", headers));
        trace.onAttempt(1, headers);
        trace.onEnd(completed(headers, "w-1"));
        all.onLaunchEnd("orders", "w-1", false, "drained");

        assertThat(names()).filteredOn(name -> name.startsWith("launch")).hasSize(1);
        assertThat(span("attempt").getLinks())
                .singleElement()
                .satisfies(link -> assertThat(link.getSpanContext().getSpanId())
                        .isEqualTo(span("launch orders").getSpanId()));
    }

    @Test
    @Timeout(20)
    void should_end_spans_soon() throws Exception {
        end(1);
        awaitSpans(3);
        end(1);
        awaitSpans(6);
    }

    private void awaitSpans(int spans) {
        Await.until(spans + " spans", () -> exporter.getFinishedSpanItems().size() >= spans);
    }

    /** A thread that falls behind keeps no more traces than these in memory. */
    @Test
    void should_keep_a_bounded_number_of_ended_requests() {
        end(5000);
        assertThat(exporter.getFinishedSpanItems()).hasSizeGreaterThanOrEqualTo(900 * 3);
        assertThat(spans()).hasSize(5000 * 3);
    }

    @Test
    @Timeout(20)
    void should_not_wait_if_there_are_enough() throws Exception {
        try (EndedTraces ended = new EndedTraces(TimeUnit.HOURS.toMillis(1))) {
            end(ended, EndedTraces.ENOUGH - 1);
            Await.remains(
                    "none is ended",
                    Duration.ofMillis(20),
                    () -> exporter.getFinishedSpanItems().isEmpty());
            end(ended, 1);
            awaitSpans(EndedTraces.ENOUGH);
            end(ended, 1);
        }
        assertThat(exporter.getFinishedSpanItems()).hasSize(EndedTraces.ENOUGH + 1);
    }

    @Test
    @Timeout(20)
    void should_end_the_other_spans_if_a_span_processor_throws_an_error() {
        SdkTracerProvider broken = SdkTracerProvider.builder()
                .addSpanProcessor(new SpanProcessor() {
                    @Override
                    public void onStart(Context parent, ReadWriteSpan span) {}

                    @Override
                    public boolean isStartRequired() {
                        return false;
                    }

                    @Override
                    public void onEnd(ReadableSpan span) {
                        throw new NoClassDefFoundError("for a test");
                    }

                    @Override
                    public boolean isEndRequired() {
                        return true;
                    }
                })
                .build();
        try (EndedTraces ended = new EndedTraces(TimeUnit.HOURS.toMillis(1))) {
            end(ended, broken.get("test"), 1);
            end(ended, 1);
        }
        assertThat(exporter.getFinishedSpanItems()).hasSize(1);
    }

    private void end(EndedTraces ended, int requests) {
        end(ended, sdk.getTracer("test"), requests);
    }

    private static void end(EndedTraces ended, Tracer tracer, int requests) {
        TextMapPropagator propagator = W3CTraceContextPropagator.getInstance();
        for (int i = 0; i < requests; i++) {
            Http2Headers headers = request("GET");
            Start start = new Start("orders", headers);
            new RequestTrace(tracer, propagator, Map.of(), ended, start, Context.root())
                    .onEnd(completed(headers, null));
        }
    }

    @Test
    void should_end_spans_after_close_too() {
        all.close();
        end(1);
        assertThat(exporter.getFinishedSpanItems()).hasSize(3);
    }

    @Test
    @Timeout(60)
    void should_lose_no_span_if_it_is_closed_meanwhile() throws Exception {
        for (int round = 0; round < 50; round++) {
            try (DispatcherTracing tracing = new DispatcherTracing(sdk, 1, true)) {
                exporter.reset();
                Thread loop = new Thread(() -> end(tracing, 100));
                Thread other = new Thread(() -> end(tracing, 100));
                loop.start();
                other.start();
                tracing.close();
                loop.join();
                other.join();
                assertThat(exporter.getFinishedSpanItems()).hasSize(600);
            }
        }
    }

    private void end(int requests) {
        end(all, requests);
    }

    private static void end(DispatcherTracing tracing, int requests) {
        for (int i = 0; i < requests; i++) {
            Http2Headers headers = request("GET");
            ExchangeListener trace = tracing.onExchangeStart(new Start("orders", headers));
            trace.onAttempt(1, headers);
            trace.onEnd(completed(headers, "w-1"));
        }
    }

    @Test
    void should_show_a_launch_that_failed() {
        all.onLaunch("orders", "w-1", "minimum");
        all.onLaunchEnd("orders", "w-1", true, "no permission");

        assertThat(span("launch orders").getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
        assertThat(span("launch orders").getStatus().getDescription()).isEqualTo("no permission");
    }

    @Test
    void should_trace_another_part_after_a_change() {
        none.setRatio(1);
        assertThat(none.onExchangeStart(new Start("orders", request("GET")))).isNotNull();
        none.setRatio(0);
        assertThat(none.onExchangeStart(new Start("orders", request("GET")))).isNull();
        assertThatThrownBy(() -> none.setRatio(2)).hasMessage("ratio: 2.0, expected 0 to 1");
    }

    @ParameterizedTest
    @ValueSource(doubles = {-0.1, 1.1, Double.NaN})
    void should_refuse_what_is_no_ratio(double ratio) {
        assertThatThrownBy(() -> new DispatcherTracing(sdk, ratio, false))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("ratio: " + ratio + ", expected 0 to 1");
    }
}
