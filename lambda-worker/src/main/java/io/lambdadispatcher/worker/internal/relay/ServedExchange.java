package io.lambdadispatcher.worker.internal.relay;

import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.HandlerInterceptor.Scope;
import io.lambdadispatcher.worker.internal.exchange.BodyGatherer;
import io.lambdadispatcher.worker.internal.exchange.Interception;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.concurrent.EventExecutor;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One request and its response on a worker stream. Over when both directions have had their
 * terminal frame:
 *
 * <pre>
 *   request:   OPEN ──END, TRAILERS, RESET, CANCEL──▶ arrived
 *   response:  OPEN ──END, TRAILERS, RESET──────────▶ ended      both: over
 * </pre>
 *
 * The response's end also ends the delivery of the request to the handler, and a cancellation ends
 * the response at once with RESET: whatever the handler still does, the stream is free for the next
 * exchange. Only in an open tunnel, a CONNECT that was answered with 2xx, do the two directions end
 * apart, and no deadline bounds them.
 */
final class ServedExchange {

    /** {@link #deadlineNanos} where the dispatcher waits forever. */
    private static final long NO_DEADLINE = Long.MAX_VALUE;

    private final ServedStream stream;
    private final RequestSide request;
    private final ResponseSide response;
    private final boolean tunnelAsked;
    private final boolean headOnly;
    private volatile long deadlineNanos;
    private boolean tunnelOpen;
    private @Nullable Interception interception;

    private @Nullable Consumer<FailureReason> cancelListener;
    private @Nullable Consumer<Duration> drainListener;
    private volatile @Nullable FailureReason cancellation;
    private boolean failed;

    /** @param timeoutNanos 0 = none */
    ServedExchange(ServedStream stream, Http2Headers head, boolean requestEnded, long timeoutNanos) {
        this.stream = stream;
        this.deadlineNanos = timeoutNanos == 0 ? NO_DEADLINE : stream.nowNanos() + timeoutNanos;
        this.tunnelAsked = Methods.isConnect(head.method());
        this.headOnly = Methods.isHead(head.method());
        this.request = new RequestSide(this, head, requestEnded);
        this.response = new ResponseSide(this, stream);
    }

    RequestSide request() {
        return request;
    }

    ResponseSide response() {
        return response;
    }

    boolean hasDeadline() {
        return deadlineNanos != NO_DEADLINE;
    }

    long deadlineNanos() {
        return deadlineNanos;
    }

    boolean isFailed() {
        return failed;
    }

    boolean isTunnelAsked() {
        return tunnelAsked;
    }

    /** To a HEAD request: what a handler writes is not sent, because it need not know. */
    boolean isHeadOnly() {
        return headOnly;
    }

    boolean isOver() {
        return request.hasArrived() && response.hasEnded();
    }

    EventExecutor loop() {
        return stream.loop();
    }

    void onLoop(Runnable action) {
        if (loop().inEventLoop()) {
            action.run();
        } else {
            loop().execute(action);
        }
    }

    void giveBack(int bytes) {
        stream.giveBack(bytes);
    }

    void handle(Handler handler) {
        try {
            interception = Interception.of(handler.interceptor(), request);
        } catch (Throwable e) {
            onHandlerThrew(e);
            return;
        }
        try (Scope scope = enter()) {
            if (tunnelAsked && !handler.servesTunnels()) {
                response.respond(
                        new DefaultHttp2Headers(false).status(HttpResponseStatus.NOT_IMPLEMENTED.codeAsText()));
                return;
            }
            handler.handle(request, response);
        } catch (Throwable e) {
            onHandlerThrew(e);
        }
    }

    /** For code of the handler that is called for this exchange. */
    @Nullable
    Scope enter() {
        return Interception.enter(interception);
    }

    void onHandlerThrew(Throwable cause) {
        Interception.report(interception, "handler", request, cause);
        if (!response.hasEnded()) {
            failed = true;
            // What was thrown is for the log only: this text gets as far as the client.
            cancel(FailureReason.HANDLER_FAILED, "");
        }
    }

    /**
     * The request's body is longer than its handler takes. Too late for a status, the response
     * breaks off.
     */
    void refuseBody(int maxBytes) {
        if (response.isUntouched()) {
            response.respond(413, BodyGatherer.tooLong(maxBytes));
        } else {
            response.fail(FailureReason.HANDLER_FAILED, "the request's body is too long");
        }
    }

    /** Nobody will take the response. Does nothing once it has ended. */
    void cancel(FailureReason code, String text) {
        if (response.hasEnded()) {
            return;
        }
        cancellation = code;
        failed = true;
        response.reset(code, text);
        notifyCancelled(code);
    }

    private void notifyCancelled(FailureReason code) {
        Consumer<FailureReason> listener = cancelListener;
        cancelListener = null;
        if (listener != null) {
            try (Scope scope = enter()) {
                listener.accept(code);
            } catch (Throwable e) {
                Interception.report(interception, "cancel listener", request, e);
            }
        }
    }

    /** From the response, before its first frame but interim ones. */
    void onHead(Http2Headers head) {
        if (tunnelAsked && head.status().charAt(0) == '2') {
            tunnelOpen = true;
            deadlineNanos = NO_DEADLINE;
            stream.disarmDeadline();
        }
    }

    /** From the response, with its terminal frame. @param clean as the handler meant it to */
    void onResponseEnded(boolean clean) {
        failed |= !clean;
        FailureReason cancelled = cancellation;
        if (!tunnelOpen || !clean) {
            request.failDelivery(cancelled == null ? FailureReason.NOT_NEEDED : cancelled);
        }
        stream.onProgress(this);
    }

    /** RESET or CANCEL came, or the stream is gone. */
    void onRequestBroken(FailureReason code, String text) {
        request.endArrival();
        if (code != FailureReason.NOT_NEEDED) {
            cancel(code, text);
        }
        request.failDelivery(code);
    }

    void onDrain(Duration grace) {
        Consumer<Duration> listener = drainListener;
        drainListener = null;
        if (listener != null && !response.hasEnded()) {
            tellOfDrain(listener, grace);
        }
    }

    void onDrain(Consumer<Duration> listener) {
        Duration grace = stream.drainGrace();
        if (grace == null) {
            drainListener = listener;
        } else if (!response.hasEnded()) {
            tellOfDrain(listener, grace);
        }
    }

    private void tellOfDrain(Consumer<Duration> listener, Duration grace) {
        try (Scope scope = enter()) {
            listener.accept(grace);
        } catch (Throwable e) {
            Interception.report(interception, "drain listener", request, e);
        }
    }

    void onDeadline() {
        cancel(FailureReason.TIMEOUT, "the request's deadline has passed");
    }

    Optional<Duration> remaining() {
        if (!hasDeadline()) {
            return Optional.empty();
        }
        return Optional.of(Duration.ofNanos(Math.max(0, deadlineNanos - stream.nowNanos())));
    }

    void onCancel(Consumer<FailureReason> listener) {
        FailureReason already = cancellation;
        if (already != null) {
            listener.accept(already);
        } else {
            cancelListener = listener;
        }
    }

    @Nullable
    FailureReason cancellation() {
        return cancellation;
    }
}
