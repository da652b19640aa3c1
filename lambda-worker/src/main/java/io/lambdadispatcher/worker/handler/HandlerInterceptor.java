package io.lambdadispatcher.worker.handler;

import org.jspecify.annotations.Nullable;

/**
 * Surrounds the code that a handler runs for a request: {@code handle}, body readers and listeners,
 * on whichever thread they run. Use it to set a logging context or a trace for that code, and to
 * report failures.
 *
 * <pre>{@code
 * public Scope enter(Request request) {
 *     return MDC.putCloseable("request", request.header("x-request-id"))::close;
 * }
 * }</pre>
 *
 * <p><b>Threading.</b> Called concurrently, on event loops and on the threads of blocking handlers.
 * Must not block.
 */
public interface HandlerInterceptor {
    HandlerInterceptor NONE = new HandlerInterceptor() {};

    /** What {@link #enter} has set up. */
    @FunctionalInterface
    interface Scope extends AutoCloseable {
        /** Undoes it, on the same thread. */
        @Override
        void close();
    }

    /**
     * Called before code of the handler runs for this request. There are several calls for one
     * request if it has a body or listeners, but never one within the scope of another of the same
     * request.
     *
     * @return closed as soon as that code returns; {@code null} if there is nothing to undo
     */
    default @Nullable Scope enter(Request request) {
        return null;
    }

    /**
     * Called if code of the handler throws an exception, within the scope of {@link #enter}. The
     * worker also logs it. An exception from here is only logged.
     */
    default void onFailure(Request request, Throwable failure) {}
}
