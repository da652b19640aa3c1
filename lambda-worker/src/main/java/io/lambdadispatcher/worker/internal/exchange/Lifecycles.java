package io.lambdadispatcher.worker.internal.exchange;

import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Lifecycle;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Calls a handler's {@link Lifecycle}, if it has one. Any thread, except where a method of {@link
 * Lifecycle} says otherwise.
 */
public final class Lifecycles {
    private Lifecycles() {}

    /** Starts the handler. If it throws anything or returns {@code null}, the result fails. */
    public static CompletionStage<Void> start(Handler handler) {
        try {
            return handler.implementation() instanceof Lifecycle lifecycle
                    ? Objects.requireNonNull(lifecycle.start(), "the result of start")
                    : CompletableFuture.completedFuture(null);
        } catch (Throwable e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /**
     * Drains the handler. If it throws anything or returns {@code null}, that is logged, and the
     * worker drains without the handler. An error, such as a thread that cannot be started, must
     * not keep the worker from draining.
     */
    public static CompletionStage<?> drain(Handler handler, DrainReason reason, Duration grace) {
        try {
            if (handler.implementation() instanceof Lifecycle lifecycle) {
                return Objects.requireNonNull(lifecycle.onDrain(reason, grace), "the result of onDrain");
            }
        } catch (Throwable e) {
            FailureLog.report("drain listener", handler, e);
        }
        return CompletableFuture.completedFuture(null);
    }

    public static void stop(Handler handler) {
        if (handler.implementation() instanceof Lifecycle lifecycle) {
            lifecycle.stop();
        }
    }
}
