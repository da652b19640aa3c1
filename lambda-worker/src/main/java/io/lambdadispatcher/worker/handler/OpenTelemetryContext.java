package io.lambdadispatcher.worker.handler;

import io.lambdadispatcher.worker.handler.HandlerInterceptor.Scope;
import io.netty.handler.codec.http2.Http2Headers;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Makes the caller's span current, if OpenTelemetry's API is on the class path. Any thread. */
final class OpenTelemetryContext {
    private static final boolean PRESENT = isPresent();

    private OpenTelemetryContext() {}

    private static boolean isPresent() {
        try {
            Class.forName(
                    "io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator",
                    false,
                    OpenTelemetryContext.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }

    /** @return {@code null} without OpenTelemetry */
    static @Nullable Scope enter(Http2Headers headers) {
        return PRESENT ? Api.enter(headers) : null;
    }

    /** Loaded only if the API is present. */
    private static final class Api {
        private static final TextMapGetter<Http2Headers> GETTER = new TextMapGetter<>() {
            @Override
            public Iterable<String> keys(Http2Headers headers) {
                List<String> names = new ArrayList<>();
                headers.names().forEach(name -> names.add(name.toString()));
                return names;
            }

            @Override
            public @Nullable String get(@Nullable Http2Headers headers, String name) {
                CharSequence value = headers == null ? null : headers.get(name);
                return value == null ? null : value.toString();
            }
        };

        private Api() {}

        /** The caller closes the scope. */
        @SuppressWarnings("MustBeClosedChecker")
        static Scope enter(Http2Headers headers) {
            return W3CTraceContextPropagator.getInstance()
                    .extract(Context.root(), headers, GETTER)
                    .makeCurrent()::close;
        }
    }
}
