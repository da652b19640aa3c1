package io.lambdadispatcher.worker.handler;

import io.lambdadispatcher.wire.http.TraceParent;
import io.lambdadispatcher.worker.handler.HandlerInterceptor.Scope;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

/**
 * Sets the trace of a request while code of its handler runs. It puts {@value #TRACE_ID} and
 * {@value #SPAN_ID} into SLF4J's MDC. If OpenTelemetry's API is on the class path, the span of the
 * caller is also the current span, so that spans of the handler become its children.
 *
 * <p>Blocking handlers and Lambda functions have it already. Other handlers return {@link
 * #interceptor} in {@link Handler#interceptor}.
 */
public final class TraceContext {
    /** The key of the trace id in the MDC. */
    public static final String TRACE_ID = "trace_id";

    /** The key of the id of the caller's span in the MDC. */
    public static final String SPAN_ID = "span_id";

    private static final HandlerInterceptor INTERCEPTOR = new HandlerInterceptor() {
        @Override
        public @Nullable Scope enter(Request request) {
            return TraceContext.enter(request);
        }
    };

    private TraceContext() {}

    /** Returns an interceptor that surrounds the code of a handler with the request's trace. */
    public static HandlerInterceptor interceptor() {
        return INTERCEPTOR;
    }

    /**
     * Sets the trace of the request on this thread.
     *
     * @return must be closed on the same thread; {@code null} if the request has no valid {@code
     *     traceparent}
     */
    public static @Nullable Scope enter(Request request) {
        String traceId = TraceParent.traceId(request.headers());
        String spanId = TraceParent.spanId(request.headers());
        if (traceId == null || spanId == null) {
            return null;
        }
        MDC.put(TRACE_ID, traceId);
        MDC.put(SPAN_ID, spanId);
        Scope openTelemetry = OpenTelemetryContext.enter(request.headers());
        return () -> {
            if (openTelemetry != null) {
                openTelemetry.close();
            }
            MDC.remove(SPAN_ID);
            MDC.remove(TRACE_ID);
        };
    }
}
