package io.lambdadispatcher.opentelemetry;

import io.opentelemetry.api.trace.Span;
import java.util.concurrent.atomic.AtomicBoolean;

/** The span of a launch. Thread-safe. */
final class LaunchSpan {
    private final Span span;
    private final AtomicBoolean ended = new AtomicBoolean();

    LaunchSpan(Span span) {
        this.span = span;
    }

    Span span() {
        return span;
    }

    /** Has no effect after the first call. */
    void end() {
        if (ended.compareAndSet(false, true)) {
            span.end();
        }
    }
}
