package io.lambdadispatcher.worker.adapter.function;

import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Request;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The HTTP request behind an event. It tells a function what no event contains, for example whether
 * the client still waits for the response. A function need not use it, because its thread is
 * interrupted when nobody waits any more.
 *
 * <pre>{@code
 * LambdaRequest request = LambdaRequest.current();
 * if (request != null && request.isCancelled()) {
 *     return null;
 * }
 * }</pre>
 *
 * <p>Any thread.
 */
public final class LambdaRequest {
    private static final ThreadLocal<LambdaRequest> CURRENT = new ThreadLocal<>();

    private final Request request;

    private LambdaRequest(Request request) {
        this.request = request;
    }

    /**
     * Returns the request that the calling thread serves. Returns {@code null} on threads that the
     * function has started itself, and in an invocation that is not an HTTP request.
     */
    public static @Nullable LambdaRequest current() {
        return CURRENT.get();
    }

    static void enter(Request request) {
        CURRENT.set(new LambdaRequest(request));
    }

    static void leave() {
        CURRENT.remove();
    }

    /**
     * Returns whether nobody waits for the response any more: the client has disconnected, the
     * deadline has passed, or the connection to the dispatcher is lost.
     */
    public boolean isCancelled() {
        return request.cancellation() != null;
    }

    /** Returns why nobody waits for the response any more, or {@code null} if somebody does. */
    public @Nullable FailureReason cancellation() {
        return request.cancellation();
    }

    /**
     * Returns the time that is left until the dispatcher ends the request, zero or more. Empty if
     * there is no limit.
     */
    public Optional<Duration> remaining() {
        return request.remaining();
    }

    /** Returns the request's headers and HTTP/2's pseudo-headers. They must not be changed. */
    public Http2Headers headers() {
        return request.headers();
    }
}
