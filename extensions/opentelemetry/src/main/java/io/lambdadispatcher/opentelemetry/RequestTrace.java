package io.lambdadispatcher.opentelemetry;

import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.WaitReason;
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
 * placed as if the way to the worker and back took equally long. Confined to the event loop of the
 * request.
 */
final class RequestTrace implements ExchangeListener {
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
    private final Span request;
    private final Context context;
    private final long startEpochNanos;
    private final long startNanos;

    private @Nullable Span attempt;
    private long attemptNanos;

    /** @param caller the context that the request came with */
    RequestTrace(
            Tracer tracer,
            TextMapPropagator propagator,
            Map<String, LaunchSpan> launches,
            ExchangeStart start,
            Context caller) {
        this.tracer = tracer;
        this.propagator = propagator;
        this.launches = launches;
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
        Http2Headers headers = start.headers();
        String method = String.valueOf(headers.method());
        boolean known = METHODS.contains(method);
        String function = start.function();
        SpanBuilder span = tracer.spanBuilder((known ? method : "HTTP") + (function == null ? "" : " " + function))
                .setParent(caller)
                .setSpanKind(SpanKind.SERVER)
                .setStartTimestamp(startEpochNanos, TimeUnit.NANOSECONDS)
                .setAttribute(TraceAttributes.METHOD, known ? method : "_OTHER")
                .setAttribute(TraceAttributes.PATH, pathOf(headers));
        if (!known) {
            span.setAttribute(TraceAttributes.METHOD_ORIGINAL, method);
        }
        set(span, TraceAttributes.FUNCTION, function);
        set(span, TraceAttributes.SCHEME, headers.scheme());
        set(span, TraceAttributes.USER_AGENT, headers.get(HttpHeaderNames.USER_AGENT));
        if (start.protocol() != ClientProtocol.EMBEDDED) {
            span.setAttribute(
                    TraceAttributes.PROTOCOL_VERSION, start.protocol() == ClientProtocol.HTTP_2 ? "2" : "1.1");
        }
        setServer(span, headers.authority());
        setPeer(span, start.remoteAddress());
        return span.startSpan();
    }

    /** The query is left out, because it can contain secrets. */
    private static String pathOf(Http2Headers headers) {
        String path = String.valueOf(headers.path());
        int query = path.indexOf('?');
        return query < 0 ? path : path.substring(0, query);
    }

    private static void set(SpanBuilder span, AttributeKey<String> key, @Nullable CharSequence value) {
        if (value != null) {
            span.setAttribute(key, value.toString());
        }
    }

    private static void setServer(SpanBuilder span, @Nullable CharSequence authority) {
        if (authority == null) {
            return;
        }
        String text = authority.toString();
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

    private static void setPeer(SpanBuilder span, @Nullable SocketAddress remote) {
        if (remote instanceof InetSocketAddress inet && inet.getAddress() != null) {
            span.setAttribute(TraceAttributes.PEER_ADDRESS, NetUtil.toAddressString(inet.getAddress()));
            span.setAttribute(TraceAttributes.PEER_PORT, (long) inet.getPort());
        }
    }

    @Override
    public void onAttempt(int number, Http2Headers headers) {
        if (attempt != null) {
            // The worker stream was taken by another request, so this attempt had not begun.
            attempt.end();
        }
        attemptNanos = System.nanoTime();
        SpanBuilder span = tracer.spanBuilder("attempt")
                .setParent(context)
                .setSpanKind(SpanKind.CLIENT)
                .setStartTimestamp(at(attemptNanos), TimeUnit.NANOSECONDS);
        if (number > 1) {
            span.setAttribute(TraceAttributes.RESEND_COUNT, (long) number - 1);
        }
        Span started = span.startSpan();
        attempt = started;
        propagator.inject(context.with(started), headers, SETTER);
    }

    @Override
    public void onAttemptFailed(@Nullable String workerId, String failure) {
        Span failed = attempt;
        attempt = null;
        if (failed != null) {
            failed.setAttribute(TraceAttributes.ERROR_TYPE, failure);
            failed.setStatus(StatusCode.ERROR);
            endAttempt(failed, workerId, at(System.nanoTime()));
        }
    }

    @Override
    public void onEnd(ExchangeEnd end) {
        long endNanos = startNanos + end.totalNanos();
        WaitReason wait = end.waitReason();
        if (wait != null) {
            tracer.spanBuilder("queue")
                    .setParent(context)
                    .setStartTimestamp(startEpochNanos, TimeUnit.NANOSECONDS)
                    .setAttribute(TraceAttributes.WAIT_REASON, wait.token())
                    .startSpan()
                    .end(startEpochNanos + end.queueNanos(), TimeUnit.NANOSECONDS);
        }
        Span last = attempt;
        if (last != null) {
            long attemptEnd = Math.max(endNanos, attemptNanos);
            reportHandler(last, end, attemptEnd);
            describe(last, end);
            endAttempt(last, end.workerId(), at(attemptEnd));
        }
        describe(request, end);
        request.setAttribute(TraceAttributes.REQUEST_BYTES, end.requestBytes());
        request.setAttribute(TraceAttributes.RESPONSE_BYTES, end.responseBytes());
        if (end.outcome() != Outcome.COMPLETED) {
            request.setAttribute(TraceAttributes.OUTCOME, end.outcome().name().toLowerCase(Locale.ROOT));
        }
        request.end(at(endNanos), TimeUnit.NANOSECONDS);
    }

    private void reportHandler(Span parent, ExchangeEnd end, long attemptEnd) {
        if (end.handlerNanos() < 0) {
            return;
        }
        long wait = Math.max(0, end.handlerWaitNanos());
        long onTheWay = Math.max(0, attemptEnd - attemptNanos - wait - end.handlerNanos());
        long called = attemptNanos + onTheWay / 2 + wait;
        SpanBuilder span = tracer.spanBuilder("handler")
                .setParent(context.with(parent))
                .setSpanKind(SpanKind.SERVER)
                .setStartTimestamp(at(called), TimeUnit.NANOSECONDS);
        set(span, TraceAttributes.FUNCTION, end.function());
        set(span, TraceAttributes.WORKER, end.workerId());
        Span handler = span.startSpan();
        describe(handler, end);
        handler.end(at(Math.min(called + end.handlerNanos(), attemptEnd)), TimeUnit.NANOSECONDS);
    }

    /** Sets the status of the response, and what the conventions call an error. */
    private static void describe(Span span, ExchangeEnd end) {
        if (end.status() > 0) {
            span.setAttribute(TraceAttributes.STATUS, (long) end.status());
        }
        String failure = end.failure();
        if (failure != null) {
            span.setAttribute(TraceAttributes.ERROR_TYPE, failure);
            span.setStatus(StatusCode.ERROR);
        } else if (end.status() >= 500) {
            span.setAttribute(TraceAttributes.ERROR_TYPE, Integer.toString(end.status()));
            span.setStatus(StatusCode.ERROR);
        }
    }

    private void endAttempt(Span span, @Nullable String workerId, long epochNanos) {
        if (workerId != null) {
            span.setAttribute(TraceAttributes.WORKER, workerId);
            LaunchSpan launch = launches.get(workerId);
            if (launch != null) {
                span.addLink(launch.span().getSpanContext());
            }
        }
        span.end(epochNanos, TimeUnit.NANOSECONDS);
    }

    /** Returns a time of {@link System#nanoTime} as nanoseconds since 1970. */
    private long at(long nanos) {
        return startEpochNanos + nanos - startNanos;
    }
}
