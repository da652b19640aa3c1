package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.policy.CanarySteps;
import io.lambdadispatcher.wire.http.StatusCode;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.concurrent.Ticker;

/**
 * Passes a response on unchanged, and counts it for a canary. Responses that clients do not wait
 * for are not counted. Confined to the client's event loop.
 */
final class WatchedResponse implements ForwardingSink {
    private static final int SERVER_ERROR = 500;

    private final CanarySteps steps;
    private final CanarySteps.Step step;
    private final boolean ofCanary;
    private final Ticker ticker;
    private final ResponseSink response;
    private final long startNanos;
    private boolean counted;

    WatchedResponse(CanarySteps steps, CanarySteps.Step step, boolean ofCanary, Ticker ticker, ResponseSink response) {
        this.steps = steps;
        this.step = step;
        this.ofCanary = ofCanary;
        this.ticker = ticker;
        this.response = response;
        this.startNanos = ticker.nanoTime();
    }

    @Override
    public ResponseSink outer() {
        return response;
    }

    private void count(int status) {
        counted = true;
        long now = ticker.nanoTime();
        steps.onResponse(step, ofCanary, status >= SERVER_ERROR, now - startNanos, now);
    }

    @Override
    public void onHead(Http2Headers fields, boolean end) {
        count(StatusCode.parse(fields.status()));
        response.onHead(fields, end);
    }

    @Override
    public void onFailure(Failure failure) {
        // The end of the dispatcher says nothing about a side.
        if (failure.kind() != Failure.Kind.SHUTTING_DOWN) {
            countFailure(failure);
        }
        response.onFailure(failure);
    }

    /** Returns false for the end of a response that its client reads too slowly. */
    private static boolean isFaultOfSide(Failure.Kind kind) {
        return switch (kind) {
            case WORKER_LOST, BAD_RESPONSE, HANDLER_FAILED, HANDLER_CANCELLED, FUNCTION_FAILED, INVOKE_FAILED -> true;
            default -> false;
        };
    }

    private void countFailure(Failure failure) {
        int status = failure.kind().status().code();
        if (counted) {
            if (isFaultOfSide(failure.kind())) {
                steps.onCutOff(step, ofCanary, ticker.nanoTime());
            }
        } else if (status >= SERVER_ERROR && failure.kind() != Failure.Kind.ONLY_IF_CACHED) {
            // What the client has asked for, or a limit that it exceeds, is no fault of a side.
            count(status);
        }
    }
}
