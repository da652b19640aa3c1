package io.lambdadispatcher.core.observe;

import org.jspecify.annotations.Nullable;

/**
 * A request and its response after the end. A WebSocket is a CONNECT with status 200 if it was
 * opened, whichever HTTP version its client speaks. Immutable; may be kept.
 */
public interface ExchangeEnd {
    /** Returns the function, or {@code null} if no route matched. */
    @Nullable
    String function();

    /** Returns the worker that had the request last, or {@code null} if it never reached one. */
    @Nullable
    String workerId();

    /** Returns the method as the client sent it, so it can be any token. */
    CharSequence method();

    /** Returns the path and query as the client sent them. */
    CharSequence path();

    /** Returns the status that was sent to the client, or 0 if none was. */
    int status();

    Outcome outcome();

    /**
     * Returns the name of the failure, for example {@code QUEUE_FULL}, or {@code null} unless the
     * outcome is {@link Outcome#FAILED}.
     */
    @Nullable
    String failure();

    /** Returns the bytes of the request's body that have arrived. */
    long requestBytes();

    /** Returns the bytes of the response's body that were passed on to the client's connection. */
    long responseBytes();

    /**
     * Returns the nanoseconds from the request's arrival until a worker stream took it, or until
     * its end if none did.
     */
    long queueNanos();

    /**
     * Returns the nanoseconds from the request's arrival until the last byte of the response was
     * passed on.
     */
    long totalNanos();

    /** Returns how many worker streams were tried. */
    int attempts();

    /**
     * Returns whether this was a tunnel, whose duration says nothing about how fast a worker
     * responds.
     */
    default boolean isTunnel() {
        return status() / 100 == 2 && "CONNECT".contentEquals(method());
    }
}
