package io.lambdadispatcher.core.internal.inprocess;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.loop.Loops;
import io.lambdadispatcher.core.internal.pool.PooledConnection;
import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * One place in the handler of this process, which carries one exchange after the other. It behaves
 * towards the pool as a worker stream does. Confined to its event loop, except {@link #onLoop}.
 *
 * <pre>
 *   IDLE ──request──▶ SENDING ──its end──▶ AWAITING
 *   SENDING, AWAITING ──end of the response, or cancelled──▶ LEAVING ──the handler returns──▶ IDLE
 *   any ──the dispatcher closes──▶ CLOSED
 * </pre>
 */
final class InProcessStream implements Carrier, RequestSink {

    private enum State {
        /** Carries no exchange. */
        IDLE,
        /** Neither the request nor the response has ended. */
        SENDING,
        /** The request has ended. The response has not. */
        AWAITING,
        /** The exchange is over, but the handler still runs. */
        LEAVING,
        CLOSED
    }

    private final InProcessSlots slots;
    private final ContentLength length = new ContentLength();

    private State state = State.IDLE;
    /** Set in SENDING and AWAITING. */
    private @Nullable Attempt attempt;
    /** Set until the handler has returned. */
    private @Nullable InProcessCall call;

    private boolean toHead;
    /** Whether the response's status is a server error. */
    private boolean failed;

    /** When the exchange began or, if there was no response yet, when its request has ended. */
    private long beginNanos;
    /** When the response began; {@link PooledConnection#UNANSWERED} = it has not. */
    private long answerNanos;

    InProcessStream(InProcessSlots slots) {
        this.slots = slots;
    }

    EventLoop loop() {
        return slots.shard.loop();
    }

    /**
     * Runs the action on the event loop. Any thread.
     *
     * @return false if the loop has ended, and with it the dispatcher
     */
    boolean onLoop(Runnable action) {
        return Loops.execute(loop(), action);
    }

    @Override
    public String workerId() {
        return slots.pooled.workerId();
    }

    @Override
    public boolean isOfBase() {
        return slots.pooled.isBase();
    }

    @Override
    public void onGivenUp() {
        slots.shard.workers().onGivenUp(slots.pooled);
    }

    // From the client.

    @Override
    public RequestSink carry(Http2Headers head, boolean end, int timeoutMillis, Attempt forAttempt) {
        assert state == State.IDLE : state;
        state = end ? State.AWAITING : State.SENDING;
        attempt = forAttempt;
        failed = false;
        toHead = Methods.isHead(head.method());
        beginNanos = slots.shard.nanoTime();
        answerNanos = PooledConnection.UNANSWERED;
        if (Exchange.isTunnel(head)) {
            onLoop(() -> refuse(null, Failure.Kind.NO_TUNNELS, "the in-process handler supports no WebSockets"));
            return this;
        }
        // A copy, because the exchange may serve another request while the handler still runs.
        InProcessCall begun = slots.calls.create(this, new FlatHeaders().add(head), end, timeoutMillis);
        call = begun;
        begun.start();
        return this;
    }

    @Override
    public void data(ByteBuf data, boolean end) {
        InProcessCall to = call;
        if (state != State.SENDING || to == null) {
            data.release();
            return;
        }
        if (end) {
            onRequestEnded();
        }
        // Last, because the next part may arrive within this call.
        if (data.isReadable()) {
            to.onRequestData(data);
        } else {
            data.release();
        }
        if (end) {
            to.onRequestEnd(EmptyHttp2Headers.INSTANCE);
        }
    }

    @Override
    public void trailers(Http2Headers trailers) {
        if (state == State.SENDING && call != null) {
            onRequestEnded();
            call.onRequestEnd(new FlatHeaders().add(trailers));
        }
    }

    /**
     * Begins to wait for the response: before that, the client may be slow, but not the handler.
     */
    private void onRequestEnded() {
        state = State.AWAITING;
        if (answerNanos == PooledConnection.UNANSWERED) {
            beginNanos = slots.shard.nanoTime();
        }
    }

    @Override
    public void cancel(ErrorCode code) {
        if (attempt != null) {
            if (state == State.SENDING) {
                onRequestEnded(); // The client was slow, not the handler.
            }
            leave(failed || code == ErrorCode.TIMEOUT || code == ErrorCode.BAD_MESSAGE);
            if (call != null) {
                call.cancel();
            }
        }
    }

    @Override
    public void responseTaken(int bytes) {
        if (attempt != null && call != null) {
            call.onResponseTaken(bytes);
        }
    }

    // From the call.

    /** The handler has read bytes of the request, or has dropped them. */
    void onRequestTaken(InProcessCall from, int bytes) {
        if (isCurrent(from)) {
            attempt().onRequestTaken(bytes);
        }
    }

    /** @param waitMicros time from the request's arrival until the call of the handler */
    void onTiming(InProcessCall from, long waitMicros, long handlerMicros) {
        if (isCurrent(from)) {
            attempt().onTiming(waitMicros, handlerMicros);
        }
    }

    void onHead(InProcessCall from, Http2Headers head, boolean end) {
        if (!isCurrent(from)) {
            return;
        }
        int status = StatusCode.parse(head.status());
        failed = status >= 500;
        answerNanos = slots.shard.nanoTime();
        slots.pooled.onAnswer(answerNanos);
        if (!StatusCode.isFinal(status)) {
            fail(Failure.Kind.BAD_RESPONSE, "response with status " + head.status() + ", expected 200 to 999");
        } else if (!length.expectResponse(head, status, toHead)) {
            String values = head.getAll(HttpHeaderNames.CONTENT_LENGTH).toString();
            fail(Failure.Kind.BAD_RESPONSE, "response with content-length " + values + ", expected one number");
        } else if (end && !length.add(0, true)) {
            fail(Failure.Kind.BAD_RESPONSE, length.errorOfResponse());
        } else {
            attemptUntil(end).onHead(head, end);
        }
    }

    /** @param data owned by this method */
    void onData(InProcessCall from, ByteBuf data, boolean end) {
        if (!isCurrent(from)) {
            data.release();
        } else if (!length.add(data.readableBytes(), end)) {
            data.release();
            fail(Failure.Kind.BAD_RESPONSE, length.errorOfResponse());
        } else {
            attemptUntil(end).onData(data, end);
        }
    }

    void onTrailers(InProcessCall from, Http2Headers trailers) {
        if (isCurrent(from)) {
            if (length.add(0, true)) {
                attemptUntil(true).onTrailers(trailers);
            } else {
                fail(Failure.Kind.BAD_RESPONSE, length.errorOfResponse());
            }
        }
    }

    /** The handler has failed. */
    void onFailed(InProcessCall from, String detail) {
        if (isCurrent(from)) {
            fail(Failure.Kind.HANDLER_FAILED, detail);
        }
    }

    /** There was no thread for the call, so another worker can serve the request. */
    void onRefused(InProcessCall from, String detail) {
        refuse(from, Failure.Kind.WORKER_LOST, detail);
    }

    /** The handler has returned, and calls nothing more. */
    void onReturned(InProcessCall from) {
        if (call == from && state != State.CLOSED) {
            if (attempt != null) {
                fail(Failure.Kind.HANDLER_FAILED, "the handler returned without a complete response");
            }
            free();
        }
    }

    private boolean isCurrent(InProcessCall from) {
        return call == from && attempt != null;
    }

    private Attempt attempt() {
        if (attempt == null) {
            throw new IllegalStateException("carries nothing in state " + state);
        }
        return attempt;
    }

    /** @param end whether the exchange ends with what the attempt gets next */
    private Attempt attemptUntil(boolean end) {
        Attempt to = attempt();
        if (end) {
            leave(failed);
        }
        return to;
    }

    private void fail(Failure.Kind kind, String detail) {
        Attempt to = attempt();
        leave(true);
        if (call != null) {
            call.cancel();
        }
        to.onFailure(new Failure(kind, detail));
    }

    private void refuse(@Nullable InProcessCall from, Failure.Kind kind, String detail) {
        if (call != from || state == State.CLOSED) {
            return;
        }
        Attempt to = attempt;
        attempt = null;
        state = State.LEAVING;
        if (to != null) {
            if (from == null) {
                slots.pooled.onUnjudged();
            } else {
                slots.pooled.onRefused();
            }
            to.onRefused(new Failure(kind, detail));
        }
        free();
    }

    private void leave(boolean hasFailed) {
        attempt = null;
        state = State.LEAVING;
        slots.pooled.onExchangeEnd(hasFailed, beginNanos, answerNanos);
    }

    private void free() {
        call = null;
        state = State.IDLE;
        slots.onFree(this);
    }

    /** Closes the stream, because the dispatcher closes. */
    void close(String reason) {
        if (state == State.CLOSED) {
            return;
        }
        boolean wasFree = state == State.IDLE;
        state = State.CLOSED;
        Attempt lost = attempt;
        attempt = null;
        if (call != null) {
            call.cancel();
        }
        slots.onClosed(this, wasFree);
        if (lost != null) {
            slots.pooled.onExchangeEnd(true);
            lost.onLost(new Failure(Failure.Kind.WORKER_LOST, "the in-process handler was closed: " + reason));
        }
    }
}
