package io.lambdadispatcher.worker.internal.relay;

import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.TraceParent;
import io.lambdadispatcher.wire.http.TunnelHead;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.HandlerInterceptor.Scope;
import io.lambdadispatcher.worker.internal.exchange.BodyGatherer;
import io.lambdadispatcher.worker.internal.exchange.FailureLog;
import io.lambdadispatcher.worker.internal.exchange.Interception;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.concurrent.EventExecutor;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One request and its response on a worker stream. It is over when both directions have had their
 * last frame:
 *
 * <pre>
 *   request:   OPEN ──END, TRAILERS, RESET, CANCEL──▶ arrived
 *   response:  OPEN ──END, TRAILERS, RESET──────────▶ ended      both: over
 * </pre>
 *
 * The end of the response also ends the delivery of the request to the handler. A cancellation ends
 * the response immediately with RESET, so that the stream is free for the next exchange, whatever
 * the handler does. Only in an open tunnel (a CONNECT whose response opens it) do the two
 * directions end separately, without a deadline.
 */
final class ServedExchange {

    /** Value of {@link #deadlineNanos} if the dispatcher waits forever. */
    private static final long NO_DEADLINE = Long.MAX_VALUE;

    private static final Logger log = LoggerFactory.getLogger(ServedExchange.class);

    private final ServedStream stream;
    private final RequestSide request;
    private final ResponseSide response;
    private final boolean tunnelAsked;
    private final boolean headOnly;
    private volatile long deadlineNanos;
    private boolean tunnelOpen;

    /** When the request arrived; 0 if the handler is not timed. */
    private final long arrivedNanos;
    /** When the handler was called; 0 before. Written once, by the thread that calls it. */
    private volatile long calledNanos;

    private @Nullable Interception interception;

    private @Nullable Consumer<FailureReason> cancelListener;
    private @Nullable Consumer<Duration> drainListener;
    private volatile @Nullable FailureReason cancellation;
    private boolean failed;

    /** @param timeoutNanos 0 if there is none */
    ServedExchange(ServedStream stream, Http2Headers head, boolean requestEnded, long timeoutNanos) {
        this.stream = stream;
        this.deadlineNanos = timeoutNanos == 0 ? NO_DEADLINE : stream.nowNanos() + timeoutNanos;
        this.tunnelAsked = Methods.isConnect(head.method());
        this.headOnly = Methods.isHead(head.method());
        this.arrivedNanos = TraceParent.isSampled(head) ? System.nanoTime() : 0;
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

    /** Returns whether the dispatcher wants the handler's times: the request is traced. */
    boolean isTimed() {
        return arrivedNanos != 0;
    }

    /** The code of the handler starts to run, on any thread. */
    void onHandlerCalled() {
        if (isTimed()) {
            calledNanos = System.nanoTime();
        }
    }

    /**
     * Returns the time from the request's arrival until the call of the handler, or until now if it
     * was not called.
     */
    long handlerWaitMicros() {
        return ((calledNanos == 0 ? System.nanoTime() : calledNanos) - arrivedNanos) / 1000;
    }

    /** Returns the time since the call of the handler; 0 if it was not called. */
    long handlerMicros() {
        return calledNanos == 0 ? 0 : (System.nanoTime() - calledNanos) / 1000;
    }

    boolean isFailed() {
        return failed;
    }

    boolean isTunnelAsked() {
        return tunnelAsked;
    }

    /**
     * Returns whether it answers a HEAD request. What a handler writes is not sent, because
     * handlers need not check the method.
     */
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
            execute(action);
        }
    }

    /** @return false if the event loop has ended, so that nobody hears of the exchange any more */
    boolean execute(Runnable action) {
        try {
            loop().execute(action);
            return true;
        } catch (RejectedExecutionException e) {
            log.debug("a late call for {} is dropped, because its event loop has ended", request);
            return false;
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
            onHandlerCalled();
            handler.handle(request, response);
        } catch (Throwable e) {
            onHandlerThrew(e);
        }
    }

    /**
     * Enters the interceptor's scope around code of the handler that is called for this exchange.
     */
    @Nullable
    Scope enter() {
        return Interception.enter(interception);
    }

    void onHandlerThrew(Throwable cause) {
        Interception.report(interception, "handler", request, cause);
        if (!response.hasEnded()) {
            failed = true;
            // The exception is only logged, because this text is sent to the client.
            cancel(FailureReason.HANDLER_FAILED, "");
        }
    }

    /**
     * The request's body is longer than its handler accepts. If it is too late for a status, the
     * response breaks off.
     */
    void refuseBody(int maxBytes) {
        if (response.isUntouched()) {
            response.respond(413, BodyGatherer.tooLong(maxBytes));
        } else {
            response.fail(FailureReason.HANDLER_FAILED, "the request's body is too long");
        }
    }

    /** Cancels the response, because nobody wants it. Has no effect after its end. */
    void cancel(FailureReason code, String text) {
        if (response.hasEnded()) {
            return;
        }
        if (code == FailureReason.TIMEOUT && response.isUntouched()) {
            FailureLog.reportUnanswered(request);
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

    /** Ends the response cleanly if its protocol permits it, because the worker goes. */
    void endCleanly(boolean latest) {
        response.endCleanly(latest);
    }

    /** Returns how the response can end before its handler ends it; {@code null} = it cannot. */
    @Nullable
    CleanEnd cleanEnd(Http2Headers head) {
        return headOnly ? null : CleanEnd.of(request.headers(), head, tunnelOpen);
    }

    /** The worker has ended the response in place of the handler. */
    void onEndedForHandler() {
        cancellation = FailureReason.GOING_AWAY;
        request.failDelivery(FailureReason.GOING_AWAY);
        notifyCancelled(FailureReason.GOING_AWAY);
        stream.onProgress(this);
    }

    /** Called by the response before its first frame, except interim responses. */
    void onHead(Http2Headers head) {
        if (tunnelAsked && TunnelHead.opens(head)) {
            tunnelOpen = true;
            deadlineNanos = NO_DEADLINE;
            stream.disarmDeadline();
        }
    }

    /**
     * Called by the response with its last frame.
     *
     * @param clean whether the handler ended it
     */
    void onResponseEnded(boolean clean) {
        failed |= !clean;
        FailureReason cancelled = cancellation;
        if (!tunnelOpen || !clean) {
            request.failDelivery(cancelled == null ? FailureReason.NOT_NEEDED : cancelled);
        }
        stream.onProgress(this);
    }

    /** RESET or CANCEL has arrived, or the stream is closed. */
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
