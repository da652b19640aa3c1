package io.lambdadispatcher.opentelemetry;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.netty.util.AsciiString;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapPropagator;
import java.net.SocketAddress;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Reports the traces of requests and launches to OpenTelemetry. A traced request has a span for
 * itself, and below it a span for the queue, for each attempt, and for the work of the worker. The
 * handler receives the attempt as its parent in {@code traceparent}
 * ({@code https://www.w3.org/TR/trace-context/}).
 *
 * <pre>{@code
 * DispatcherTracing tracing = new DispatcherTracing(openTelemetry, 0.01, false);
 * DispatcherBuilder builder = Dispatcher.builder().observer(tracing);
 * }</pre>
 *
 * <p>Close it after the dispatcher, and before {@code openTelemetry}. The spans of a request are
 * given to OpenTelemetry within half a second of its end, by a thread that this class owns.
 *
 * <p>This class chooses requests at random. If callers are trusted, a request with a {@code
 * traceparent} is traced if and only if its caller traces it. In both cases, the caller's trace is
 * continued. A request that is not traced costs nothing more, and its headers are not changed.
 *
 * <p>Spans need no agent in the workers: a worker reports how long its handler ran, and the
 * dispatcher exports the span. So a worker on Lambda has neither a cold start nor a flush for it.
 *
 * <p><b>Threading.</b> Called on event loops. Samplers and {@code onStart} of span processors run
 * on them and must not block. {@code onEnd} of span processors may be called on an event loop if
 * more than 4,096 requests have ended meanwhile.
 */
public final class DispatcherTracing implements DispatcherObserver, AutoCloseable {
    static final AsciiString TRACEPARENT = AsciiString.cached("traceparent");
    private static final String SCOPE = "io.lambdadispatcher";

    private final Tracer tracer;
    private final TextMapPropagator propagator;
    private volatile double ratio;
    private final boolean callersDecide;
    /** Launches by worker id, until the worker exits. */
    private final Map<String, LaunchSpan> launches = new ConcurrentHashMap<>();

    private final EndedTraces ended = new EndedTraces(EndedTraces.PAUSE_MILLIS);

    /**
     * Creates the observer.
     *
     * @param openTelemetry with the W3C propagator and the sampler {@code alwaysOn()}, because this
     *     class has chosen before. Another sampler may drop some of the chosen requests
     * @param ratio part of the requests that is traced, 0 to 1
     * @param callersDecide whether a {@code traceparent} decides instead. Only for callers that are
     *     trusted, because any client could have all its requests traced
     * @throws IllegalArgumentException if {@code ratio} is less than 0 or more than 1
     */
    public DispatcherTracing(OpenTelemetry openTelemetry, double ratio, boolean callersDecide) {
        this.ratio = checked(ratio);
        Objects.requireNonNull(openTelemetry, "openTelemetry");
        this.tracer = openTelemetry.getTracer(SCOPE);
        this.propagator = openTelemetry.getPropagators().getTextMapPropagator();
        this.callersDecide = callersDecide;
    }

    private static double checked(double ratio) {
        if (!(ratio >= 0 && ratio <= 1)) {
            throw new IllegalArgumentException("ratio: " + ratio + ", expected 0 to 1");
        }
        return ratio;
    }

    /**
     * Changes the part of the requests that is traced, for requests that arrive from now on. Any
     * thread.
     *
     * @param value 0 to 1
     * @throws IllegalArgumentException if {@code value} is less than 0 or more than 1
     */
    public void setRatio(double value) {
        ratio = checked(value);
    }

    @Override
    public @Nullable ExchangeListener onExchangeStart(ExchangeStart start) {
        if (callersDecide && start.headers().contains(TRACEPARENT)) {
            Context caller = callerOf(start);
            SpanContext parent = Span.fromContext(caller).getSpanContext();
            if (parent.isValid()) {
                return parent.isSampled() ? trace(start, caller) : null;
            }
        }
        double part = ratio;
        boolean chosen = part > 0 && ThreadLocalRandom.current().nextDouble() < part;
        return chosen ? trace(start, callerOf(start)) : null;
    }

    private Context callerOf(ExchangeStart start) {
        return propagator.extract(Context.root(), start.headers(), RequestTrace.GETTER);
    }

    private ExchangeListener trace(ExchangeStart start, Context caller) {
        return new RequestTrace(tracer, propagator, launches, ended, start, caller);
    }

    @Override
    public void onLaunch(String function, String workerId, String reason) {
        launches.put(
                workerId,
                new LaunchSpan(tracer.spanBuilder("launch " + function)
                        .setNoParent()
                        .setSpanKind(SpanKind.CLIENT)
                        .setAttribute(TraceAttributes.FUNCTION, function)
                        .setAttribute(TraceAttributes.WORKER, workerId)
                        .startSpan()));
    }

    /** The launch ends when the worker dials in. */
    @Override
    public void onWorkerConnected(String function, String workerId, SocketAddress remote, int streams) {
        LaunchSpan launch = launches.get(workerId);
        if (launch != null) {
            launch.end();
        }
    }

    @Override
    public void onLaunchEnd(String function, String workerId, boolean failed, String detail) {
        LaunchSpan launch = launches.remove(workerId);
        if (launch != null) {
            if (failed) {
                launch.span().setStatus(StatusCode.ERROR, detail);
            }
            launch.end();
        }
    }

    /**
     * Ends the spans of all requests that have ended. Those of later requests are ended at once, on
     * their event loops.
     */
    @Override
    public void close() {
        ended.close();
    }
}
