package io.lambdadispatcher.worker.adapter.function;

import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Request;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The HTTP request under an event, for a Lambda handler that wants to know what no event tells: whether somebody still waits for the response. A handler need not
 * know this class; its thread is interrupted as well. Any thread.
 */
public final class LambdaRequest {
    private static final ThreadLocal<LambdaRequest> CURRENT = new ThreadLocal<>();

    private final Request request;

    private LambdaRequest(Request request) {
        this.request = request;
    }

    /** Of the calling thread; {@code null} on threads of the handler's own, and in an invoke that is no HTTP request. */
    public static @Nullable LambdaRequest current() {
        return CURRENT.get();
    }

    static void enter(Request request) {
        CURRENT.set(new LambdaRequest(request));
    }

    static void leave() {
        CURRENT.remove();
    }

    /** The client has gone, the deadline has passed or the dispatcher is lost: nobody will see the response. */
    public boolean isCancelled() {
        return request.cancellation() != null;
    }

    /** Why; {@code null} while somebody waits for the response. */
    public @Nullable FailureReason cancellation() {
        return request.cancellation();
    }

    /** Empty where there is no limit. */
    public Optional<Duration> remaining() {
        return request.remaining();
    }

    /** With the pseudo-header fields of HTTP/2; not to be changed. */
    public Http2Headers headers() {
        return request.headers();
    }
}
