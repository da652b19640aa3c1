package io.lambdadispatcher.opentelemetry;

import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.wire.http.HeaderText;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import io.netty.util.NetUtil;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.opentelemetry.context.propagation.TextMapPropagator;
import io.opentelemetry.context.propagation.TextMapSetter;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The spans of one traced request:
 *
 * <pre>
 * POST orders         from the arrival until the end
 *   queue             until a worker takes it, if it was queued
 *   attempt           from then until the end, or until the worker fails
 *     handler         in the worker: from the call of the handler until the end of its response
 * </pre>
 *
 * <p>The worker reports durations and no times, because clocks differ. The span of the handler is
 * placed as if the way to the worker and back took equally long.
 *
 * <p>The event loop of the request only begins spans, because the handler must know their ids. All
 * else follows after the end, in {@link #complete}, on any thread.
 */
final class RequestTrace implements ExchangeListener {
    private static final AsciiString TRACESTATE = AsciiString.cached("tracestate");

    /** Methods of RFC 9110 and RFC 5789, which the conventions name. */
    private static final Set<String> METHODS =
            Set.of("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE");

    static final TextMapGetter<Http2Headers> GETTER = new TextMapGetter<>() {
        @Override
        public Iterable<String> keys(Http2Headers headers) {
            List<String> names = new ArrayList<>();
            headers.names().forEach(name -> names.add(name.toString()));
            return names;
        }

        /** Repeated headers are one list: a client may send tracestate and baggage in parts. */
        @Override
        public @Nullable String get(@Nullable Http2Headers headers, String name) {
            List<CharSequence> values = headers == null ? List.of() : headers.getAll(ascii(name));
            return values.isEmpty() ? null : String.join(",", values);
        }
    };

    private static final TextMapSetter<Http2Headers> SETTER = (headers, name, value) -> {
        if (headers != null) {
            headers.set(ascii(name), AsciiString.of(value));
        }
    };

    /**
     * Returns a name as all other headers have it. With strings among them, the JVM compiles slower
     * code for all requests.
     */
    private static AsciiString ascii(String name) {
        return name.equals("traceparent")
                ? DispatcherTracing.TRACEPARENT
                : AsciiString.of(name.toLowerCase(Locale.ROOT));
    }

    private final Tracer tracer;
    private final TextMapPropagator propagator;
    private final Map<String, LaunchSpan> launches;
    private final EndedTraces ended;
    private final Span request;
    private final Context context;
    private final long startEpochNanos;
    private final long startNanos;

    /** The attempts in flight, the earliest first. */
    private final List<Attempt> attempts = new ArrayList<>(1);

    /** @param nanos when it began */
    private record Attempt(int number, Span span, long nanos) {}

    private @Nullable ExchangeEnd end;
    private @Nullable LaunchSpan launch;

    /** @param caller the context that the request came with */
    RequestTrace(
            Tracer tracer,
            TextMapPropagator propagator,
            Map<String, LaunchSpan> launches,
            EndedTraces ended,
            ExchangeStart start,
            Context caller) {
        this.tracer = tracer;
        this.propagator = propagator;
        this.launches = launches;
        this.ended = ended;
        this.startEpochNanos = epochNanos();
        this.startNanos = System.nanoTime();
        this.request = begin(start, caller);
        this.context = caller.with(request);
    }

    private static long epochNanos() {
        Instant now = Instant.now();
        return TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano();
    }

    private Span begin(ExchangeStart start, Context caller) {
        String method = String.valueOf(start.headers().method());
        String function = start.function();
        return tracer.spanBuilder(
                        (METHODS.contains(method) ? method : "HTTP") + (function == null ? "" : " " + function))
                .setParent(caller)
                .setSpanKind(SpanKind.SERVER)
                .setStartTimestamp(startEpochNanos, TimeUnit.NANOSECONDS)
                .startSpan();
    }

    /** The query is left out, because it can contain secrets. */
    private static String pathOf(Http2Headers headers) {
        String path = String.valueOf(headers.path());
        int query = path.indexOf('?');
        return HeaderText.decode(query < 0 ? path : path.substring(0, query));
    }

    private static void set(Span span, AttributeKey<String> key, @Nullable CharSequence value) {
        if (value != null) {
            span.setAttribute(key, value.toString());
        }
    }

    private static void setServer(Span span, @Nullable CharSequence authority) {
        if (authority == null) {
            return;
        }
        String text = HeaderText.decode(authority);
        int colon = text.lastIndexOf(':');
        boolean hasPort = colon > text.lastIndexOf(']')
                && colon + 1 < text.length()
                && areDigits(text, colon + 1)
                && text.length() - colon <= 6;
        span.setAttribute(TraceAttributes.SERVER_ADDRESS, hasPort ? text.substring(0, colon) : text);
        if (hasPort) {
            span.setAttribute(TraceAttributes.SERVER_PORT, Long.parseLong(text.substring(colon + 1)));
        }
    }

    private static boolean areDigits(String text, int start) {
        for (int i = start; i < text.length(); i++) {
            if (text.charAt(i) < '0' || text.charAt(i) > '9') {
                return false;
            }
        }
        return true;
    }

    private static void setPeer(Span span, @Nullable SocketAddress remote) {
        if (remote instanceof InetSocketAddress inet && inet.getAddress() != null) {
            span.setAttribute(TraceAttributes.PEER_ADDRESS, NetUtil.toAddressString(inet.getAddress()));
            span.setAttribute(TraceAttributes.PEER_PORT, (long) inet.getPort());
        }
    }

    @Override
    public void onAttempt(int number, Http2Headers headers) {
        Attempt before = remove(number);
        if (before != null) {
            // The worker stream was taken by another request, so this attempt had not begun.
            before.span.end();
        }
        long attemptNanos = System.nanoTime();
        SpanBuilder span = tracer.spanBuilder("attempt")
                .setParent(context)
                .setSpanKind(SpanKind.CLIENT)
                .setStartTimestamp(at(attemptNanos), TimeUnit.NANOSECONDS);
        if (number > 1) {
            span.setAttribute(TraceAttributes.RESEND_COUNT, (long) number - 1);
        }
        Span started = span.startSpan();
        attempts.add(new Attempt(number, started, attemptNanos));
        // A client's tracestate without a valid traceparent belongs to another trace.
        headers.remove(TRACESTATE);
        propagator.inject(context.with(started), headers, SETTER);
    }

    @Override
    public void onAttemptFailed(int number, @Nullable String workerId, String failure) {
        Attempt failed = remove(number);
        if (failed != null) {
            failed.span.setAttribute(TraceAttributes.ERROR_TYPE, failure);
            failed.span.setStatus(StatusCode.ERROR);
            endAttempt(failed.span, workerId, launchOf(workerId), at(System.nanoTime()));
        }
    }

    private @Nullable Attempt remove(int number) {
        for (int i = 0; i < attempts.size(); i++) {
            if (attempts.get(i).number == number) {
                return attempts.remove(i);
            }
        }
        return null;
    }

    @Override
    public void onEnd(ExchangeEnd exchange) {
        end = exchange.copy();
        launch = launchOf(exchange.workerId());
        ended.add(this);
    }

    private @Nullable LaunchSpan launchOf(@Nullable String workerId) {
        return workerId == null ? null : launches.get(workerId);
    }

    /** Ends the spans, after {@link #onEnd}. */
    void complete() {
        ExchangeEnd exchange = Objects.requireNonNull(end);
        long endNanos = startNanos + exchange.totalNanos();
        WaitReason wait = exchange.waitReason();
        if (wait != null) {
            tracer.spanBuilder("queue")
                    .setParent(context)
                    .setStartTimestamp(startEpochNanos, TimeUnit.NANOSECONDS)
                    .setAttribute(TraceAttributes.WAIT_REASON, wait.token())
                    .startSpan()
                    .end(startEpochNanos + exchange.queueNanos(), TimeUnit.NANOSECONDS);
        }
        for (int i = attempts.size() - 1; i >= 0; i--) {
            Attempt each = attempts.get(i);
            // Otherwise, no worker stream was free for the last one.
            boolean begun = each.number <= exchange.attempts();
            long attemptEnd = begun ? Math.max(endNanos, each.nanos) : each.nanos;
            if (begun && i == 0) {
                // Hedges in flight at the end are dropped. The end is that of the first attempt.
                reportHandler(each, exchange, attemptEnd);
                describe(each.span, exchange);
                endAttempt(each.span, exchange.workerId(), launch, at(attemptEnd));
            } else {
                each.span.end(at(attemptEnd), TimeUnit.NANOSECONDS);
            }
        }
        describeRequest(exchange);
        describe(request, exchange);
        request.end(at(endNanos), TimeUnit.NANOSECONDS);
    }

    private void describeRequest(ExchangeEnd exchange) {
        Http2Headers headers = exchange.headers();
        String method = String.valueOf(headers.method());
        boolean known = METHODS.contains(method);
        request.setAttribute(TraceAttributes.METHOD, known ? method : "_OTHER");
        if (!known) {
            request.setAttribute(TraceAttributes.METHOD_ORIGINAL, method);
        }
        request.setAttribute(TraceAttributes.PATH, pathOf(headers));
        set(request, TraceAttributes.FUNCTION, exchange.function());
        set(request, TraceAttributes.SCHEME, headers.scheme());
        CharSequence agent = headers.get(HttpHeaderNames.USER_AGENT);
        set(request, TraceAttributes.USER_AGENT, agent == null ? null : HeaderText.decode(agent));
        if (exchange.protocol() != ClientProtocol.EMBEDDED) {
            request.setAttribute(
                    TraceAttributes.PROTOCOL_VERSION, exchange.protocol() == ClientProtocol.HTTP_2 ? "2" : "1.1");
        }
        setServer(request, headers.authority());
        setPeer(request, exchange.remoteAddress());
        request.setAttribute(TraceAttributes.REQUEST_BYTES, exchange.requestBytes());
        request.setAttribute(TraceAttributes.RESPONSE_BYTES, exchange.responseBytes());
        if (exchange.outcome() != Outcome.COMPLETED) {
            request.setAttribute(
                    TraceAttributes.OUTCOME, exchange.outcome().name().toLowerCase(Locale.ROOT));
        }
    }

    private void reportHandler(Attempt parent, ExchangeEnd exchange, long attemptEnd) {
        long nanos = exchange.handlerNanos();
        if (nanos < 0) {
            return;
        }
        long wait = Math.max(0, exchange.handlerWaitNanos());
        long onTheWay = Math.max(0, attemptEnd - parent.nanos - wait - nanos);
        long called = parent.nanos + onTheWay / 2 + wait;
        Span handler = tracer.spanBuilder("handler")
                .setParent(context.with(parent.span))
                .setSpanKind(SpanKind.SERVER)
                .setStartTimestamp(at(called), TimeUnit.NANOSECONDS)
                .startSpan();
        set(handler, TraceAttributes.FUNCTION, exchange.function());
        set(handler, TraceAttributes.WORKER, exchange.workerId());
        describe(handler, exchange);
        handler.end(at(Math.min(called + nanos, attemptEnd)), TimeUnit.NANOSECONDS);
    }

    /** Sets the status of the response, and what the conventions call an error. */
    private static void describe(Span span, ExchangeEnd exchange) {
        if (exchange.status() > 0) {
            span.setAttribute(TraceAttributes.STATUS, (long) exchange.status());
        }
        String failure = exchange.failure();
        if (failure != null) {
            span.setAttribute(TraceAttributes.ERROR_TYPE, failure);
            span.setStatus(StatusCode.ERROR);
        } else if (exchange.status() >= 500) {
            span.setAttribute(TraceAttributes.ERROR_TYPE, Integer.toString(exchange.status()));
            span.setStatus(StatusCode.ERROR);
        }
    }

    private static void endAttempt(Span span, @Nullable String workerId, @Nullable LaunchSpan launch, long epochNanos) {
        if (workerId != null) {
            span.setAttribute(TraceAttributes.WORKER, workerId);
        }
        if (launch != null) {
            span.addLink(launch.span().getSpanContext());
        }
        span.end(epochNanos, TimeUnit.NANOSECONDS);
    }

    /** Returns a time of {@link System#nanoTime} as nanoseconds since 1970. */
    private long at(long nanos) {
        return startEpochNanos + nanos - startNanos;
    }
}
