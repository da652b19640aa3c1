package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.policy.Breaker;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A request between its client and its function, which counts for a breaker: once, at its response
 * headers, its failure, or when it is too slow. It passes everything on, and holds no buffers.
 * Confined to the client's event loop.
 */
final class WatchedExchange extends DeadlineQueue.Entry implements RequestSink, ForwardingSink {
    private final BreakerFilter filter;
    private final BreakerFilter.Watch watch;
    private final ResponseSink response;
    private final TrafficPolicy policy;
    private final long startNanos;

    /** {@code null} = the request has been counted, or does not count. */
    private Breaker.@Nullable Phase passed;

    private @Nullable RequestSink target;
    private boolean sent;
    private boolean requestEnded;

    /** The end of the body can let the request be sent, so both events can come at once. */
    private boolean started;

    WatchedExchange(
            BreakerFilter filter,
            BreakerFilter.Watch watch,
            Breaker.Phase passed,
            ResponseSink response,
            boolean requestEnded,
            TrafficPolicy policy,
            long startNanos) {
        this.filter = filter;
        this.watch = watch;
        this.passed = passed;
        this.response = response;
        this.requestEnded = requestEnded;
        this.policy = policy;
        this.startNanos = startNanos;
    }

    void setTarget(RequestSink value) {
        target = value;
    }

    @Override
    public ResponseSink outer() {
        return response;
    }

    private RequestSink target() {
        return Objects.requireNonNull(target, "the client was called while the exchange was opened");
    }

    // What counts.

    private void startIfComplete() {
        if (sent && requestEnded && passed != null && !started) {
            started = true;
            watch.start(this);
        }
    }

    /** No response headers within the latency of the policy. The request continues. */
    void onSlow() {
        count(true);
    }

    private void count(boolean failed) {
        Breaker.Phase phase = passed;
        if (phase != null) {
            passed = null;
            watch.stop(this);
            watch.onEnd(phase, failed);
        }
    }

    private void countNothing() {
        passed = null;
        watch.stop(this);
    }

    private boolean isFailureOfFunction(Failure failure) {
        return switch (failure.kind()) {
            case HANDLER_FAILED, HANDLER_CANCELLED, WORKER_LOST, BAD_RESPONSE, FUNCTION_FAILED, INVOKE_FAILED -> true;
            // Otherwise, a client that sends its body slowly could open the breaker.
            case TIMEOUT -> sent && requestEnded;
            case DEADLINE_EXCEEDED -> sent && requestEnded && isDeadlineOfRoute();
            default -> false;
        };
    }

    /** Returns false if a client has set a shorter deadline, which could open the breaker. */
    private boolean isDeadlineOfRoute() {
        long limit = policy.deadline().limit().toNanos();
        // The exchange may have read an earlier clock.
        return limit > 0 && filter.nanoTime() - startNanos >= limit - limit / 10;
    }

    // From the client.

    @Override
    public void data(ByteBuf data, boolean end) {
        requestEnded |= end;
        target().data(data, end);
        if (end) {
            startIfComplete();
        }
    }

    @Override
    public void trailers(Http2Headers trailers) {
        requestEnded = true;
        target().trailers(trailers);
        startIfComplete();
    }

    @Override
    public void cancel(ErrorCode code) {
        countNothing();
        target().cancel(code);
    }

    @Override
    public void responseTaken(int bytes) {
        target().responseTaken(bytes);
    }

    @Override
    public void detach() {
        target().detach();
    }

    @Override
    public long heldBytes() {
        return target == null ? 0 : target.heldBytes();
    }

    // From the function.

    @Override
    public void onSent() {
        // A request that found no room on its worker is sent for the first time again.
        if (!sent) {
            sent = true;
            startIfComplete();
            response.onSent();
        }
    }

    @Override
    public void onHead(Http2Headers head, boolean end) {
        count(StatusCode.parse(head.status()) >= 500);
        response.onHead(head, end);
    }

    @Override
    public void onFailure(Failure failure) {
        if (isFailureOfFunction(failure)) {
            count(true);
        } else {
            countNothing();
        }
        response.onFailure(failure);
    }
}
