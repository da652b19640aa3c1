package io.lambdadispatcher.core.internal.worker;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.pool.PooledConnection;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.wire.worker.WireException;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import org.jspecify.annotations.Nullable;

/**
 * A worker stream, which carries one exchange after the other. This class has all states of the
 * dispatcher's end and all transitions between them ({@code docs/reference/protocol.md}, section
 * 7). {@link RequestSender} writes the frames of requests, {@link ResponseReceiver} reads those of
 * responses, and {@link WindowLedger} counts the bytes that have not been read. Confined to the
 * connection's event loop.
 *
 * <pre>
 *   IDLE ──request──▶ SENDING ──its end──▶ AWAITING
 *   SENDING, AWAITING ──end of the response──▶ ENDING ──▶ IDLE
 *   SENDING, AWAITING ──CANCEL──▶ ABANDONED ──end of the response──▶ IDLE
 *   SENDING ──the worker ends a tunnel──▶ TUNNEL_ENDING ──the client ends it──▶ LEAVING
 *   LEAVING ──all taken──▶ IDLE
 *   any ──the HTTP/2 stream ends──▶ CLOSED
 * </pre>
 *
 * <p>Bytes that the client has not read occupy the window only as long as the exchange lasts. So a
 * client that reads the end of a response slowly delays neither this stream nor the worker.
 */
final class WorkerStream extends DeadlineQueue.Entry implements Carrier, RequestSink {

    private enum State {
        /** Carries no exchange. */
        IDLE,
        /** Neither the request nor the response has ended. */
        SENDING,
        /** The request has ended. The response has not. */
        AWAITING,
        /**
         * The last frame of the exchange has been read, but there may be bytes behind it. The next
         * exchange begins only when it is known that there are none.
         */
        ENDING,
        /** The worker has ended its direction of a tunnel. The client has not. */
        TUNNEL_ENDING,
        /**
         * Both directions of a tunnel have ended, but bytes of the client still wait for the
         * worker, and the next request would wait behind them.
         */
        LEAVING,
        /**
         * CANCEL was sent and the exchange is over, but the stream is free only when the worker has
         * ended the response.
         */
        ABANDONED,
        CLOSED
    }

    /**
     * A CANCEL waits behind the bytes that wait for the worker's window, possibly for as long as
     * the handler does not read. With more bytes than this, the stream is reset instead, which
     * frees them, and the worker opens another stream.
     */
    private static final int MAX_CANCELLED_BYTES = 64 * 1024;

    private static final String RESPONSE_MISUSED = "the handler used its response incorrectly, see the worker's log";

    private final WorkerConnection connection;
    private final Http2Stream http2;
    private final WindowLedger window = new WindowLedger();
    private final RequestSender request;
    private final ResponseReceiver response;

    private State state = State.IDLE;
    /** Set in SENDING, AWAITING and TUNNEL_ENDING. */
    private @Nullable Attempt attempt;

    /** When the exchange began or, if there was no response yet, when its request has ended. */
    private long beginNanos;
    /** When the response began; {@link PooledConnection#UNANSWERED} = it has not. */
    private long answerNanos;

    WorkerStream(WorkerConnection connection, Http2Stream http2) {
        this.connection = connection;
        this.http2 = http2;
        this.request = new RequestSender(this, connection, http2, window);
        this.response = new ResponseReceiver(this, connection.handler.ctx().alloc(), window);
    }

    @Override
    public String workerId() {
        return connection.workerId();
    }

    @Override
    public boolean isOfBase() {
        return connection.pooled.isBase();
    }

    @Override
    public void onGivenUp() {
        connection.shard.workers().onGivenUp(connection.pooled);
    }

    Http2Stream http2() {
        return http2;
    }

    // Calls from the client's side.

    @Override
    public RequestSink carry(Http2Headers head, boolean end, int timeoutMillis, Attempt forAttempt) {
        assert state == State.IDLE : state;
        state = end ? State.AWAITING : State.SENDING;
        try {
            request.head(head, timeoutMillis, end);
        } catch (WireException e) {
            onUnencodable(e);
            forAttempt.onFailure(new Failure(Failure.Kind.BAD_REQUEST, "request head: " + e.getMessage()));
            return this;
        } catch (RuntimeException | Error e) {
            onUnsent(e);
            forAttempt.onFailure(
                    new Failure(Failure.Kind.OVERLOADED, "the dispatcher could not send the request to a worker"));
            return this;
        }
        attempt = forAttempt;
        beginNanos = connection.shard.nanoTime();
        answerNanos = PooledConnection.UNANSWERED;
        response.expect(head, forAttempt);
        return this;
    }

    @Override
    public void data(ByteBuf data, boolean end) {
        if (!isRequestOpen() || !data.isReadable() && !end) {
            data.release();
            return;
        }
        try {
            request.data(data, end);
        } catch (RuntimeException | Error e) {
            onUnsent(e);
            return;
        }
        if (end) {
            onRequestEnded();
        }
    }

    @Override
    public void trailers(Http2Headers trailers) {
        if (!isRequestOpen()) {
            return;
        }
        try {
            request.trailers(trailers);
        } catch (WireException e) {
            onUnencodable(e);
            return;
        } catch (RuntimeException | Error e) {
            onUnsent(e);
            return;
        }
        onRequestEnded();
    }

    private boolean isRequestOpen() {
        return state == State.SENDING || state == State.TUNNEL_ENDING;
    }

    /** Resets the stream, because the worker's HPACK state of it differs from ours. */
    private void onUnencodable(WireException e) {
        connection.reset(http2);
        connection.pooled.onUnjudged();
        close(e.getMessage());
    }

    /**
     * Resets the stream after an unexpected error, usually because direct memory has run out. The
     * stream would otherwise be busy forever, and so would all streams after some time without
     * memory.
     */
    void onUnsent(Throwable e) {
        try {
            connection.onUnsent(http2, e);
        } finally {
            connection.pooled.onUnjudged();
            close("the dispatcher could not send the request");
        }
    }

    private void onRequestEnded() {
        if (state == State.TUNNEL_ENDING) {
            endTunnel();
        } else {
            state = State.AWAITING;
            beginNow();
        }
    }

    /** Begins to wait for the response: before that, the client may be slow, but not the worker. */
    private void beginNow() {
        if (answerNanos == PooledConnection.UNANSWERED) {
            beginNanos = connection.shard.nanoTime();
        }
    }

    @Override
    public void cancel(ErrorCode code) {
        if (state == State.SENDING || state == State.AWAITING) {
            boolean failed = code == ErrorCode.TIMEOUT || code == ErrorCode.BAD_MESSAGE;
            if (state == State.SENDING) {
                beginNow();
            }
            if (window.requestBytes() > MAX_CANCELLED_BYTES) {
                forgetExchange(failed || response.hasFailed());
                connection.handler.reset(http2, Http2Error.CANCEL);
                close("cancelled before the worker accepted the request");
                return;
            }
            forgetExchange(failed || response.hasFailed());
            if (sendCancel(code)) {
                state = State.ABANDONED;
                connection.expectFromWorker(this);
            }
        } else if (state == State.TUNNEL_ENDING) {
            forgetExchange(false);
            if (sendCancel(code)) {
                leave();
            }
        }
    }

    /** @return false if the stream is closed, because there is no memory for the frame */
    private boolean sendCancel(ErrorCode code) {
        try {
            request.cancel(code);
            return true;
        } catch (RuntimeException | Error e) {
            onUnsent(e);
            return false;
        }
    }

    @Override
    public void responseTaken(int bytes) {
        if (attempt != null) {
            connection.handler.giveBack(http2, bytes);
            window.onResponseTaken(bytes);
        }
    }

    // From the worker.

    /**
     * DATA has arrived on the HTTP/2 stream.
     *
     * @return number of bytes to return to the window now
     */
    int onBytes(ByteBuf content) {
        if (state == State.CLOSED) {
            return content.readableBytes();
        }
        try {
            if (content.isReadable()) {
                verifyDue();
            }
            int done = response.read(content);
            if (response.isInsideFrame()) {
                verifyDue();
            }
            if (state == State.ENDING) {
                onOver();
            }
            return done;
        } catch (WireException e) {
            connection.onViolation(http2, e);
            close(e.getMessage());
            // Zero, because Netty returns the bytes of a closed stream to the connection's window.
            return 0;
        }
    }

    /**
     * Verifies that bytes of the worker can belong to a response. Others could form a response that
     * reaches the next client, even if they are only the beginning of a frame.
     */
    private void verifyDue() throws WireException {
        boolean due = switch (state) {
            case SENDING, AWAITING, ABANDONED -> request.isHeadSent();
            case IDLE, ENDING, TUNNEL_ENDING, LEAVING -> false;
            case CLOSED -> true; // within a call of the reader, which drops the rest
        };
        if (!due) {
            throw new WireException(
                    WireException.Reason.FRAME_NOT_ALLOWED_HERE, 0, "bytes without a request in state " + state);
        }
    }

    /**
     * The worker's window has taken bytes of requests.
     *
     * @param own bytes of the current exchange
     */
    void onRequestTaken(int own) {
        if (state == State.LEAVING) {
            connection.onAnswered(this);
            leave();
        }
        if (own > 0 && attempt != null) {
            attempt.onRequestTaken(own);
        }
    }

    /**
     * The worker has reset the stream because its handler misused the response. The same would
     * happen on another worker, so there is no retry.
     */
    void onResponseMisused() {
        if (state == State.CLOSED) {
            return;
        }
        Attempt current = attempt;
        attempt = null;
        close(RESPONSE_MISUSED);
        if (current != null) {
            connection.pooled.onExchangeEnd(true);
            current.onFailure(new Failure(Failure.Kind.HANDLER_FAILED, RESPONSE_MISUSED));
        }
    }

    boolean isAbandoned() {
        return state == State.ABANDONED;
    }

    /**
     * A frame of a cancelled exchange has arrived.
     *
     * @param end whether it is the last frame of its response
     */
    void onAbandonedFrame(boolean end) {
        if (end) {
            connection.onAnswered(this);
            state = State.ENDING;
        }
    }

    /** Called when the head of the response has arrived. */
    void onAnswer() {
        answerNanos = connection.shard.nanoTime();
        connection.pooled.onAnswer(answerNanos);
    }

    /**
     * Called before a frame of the response is passed on.
     *
     * @param end whether it is the last frame of the response, which ends the exchange, except in a
     *     tunnel that the client has not ended
     */
    void onPassingOn(boolean end) {
        if (end && state == State.SENDING && response.isTunnel()) {
            state = State.TUNNEL_ENDING;
            response.forget();
        } else if (end) {
            onExchangeEnding(response.hasFailed());
        }
    }

    /** Called before the exchange's last frame, or its failure, is passed on. */
    void onExchangeEnding(boolean failed) {
        leaveExchange();
        forgetExchange(failed);
    }

    /**
     * Called before the worker's refusal is passed on. A refusal says nothing about the worker's
     * speed.
     */
    void onRefusing() {
        leaveExchange();
        forgetAttempt();
        connection.pooled.onRefused();
    }

    /** Called before it is passed on that the worker had no room for the request. */
    void onBusy() {
        leaveExchange();
        forgetAttempt();
        connection.shard.workers().onBusy(connection.pooled);
    }

    private void leaveExchange() {
        if (state == State.SENDING) {
            request.cancel(ErrorCode.NOT_NEEDED);
        }
        state = State.ENDING;
    }

    /** Returns a text that says what the worker has not done in time. */
    String owed() {
        return state == State.LEAVING
                ? "the worker did not read the last bytes of a tunnel in time"
                : "the worker did not answer CANCEL in time";
    }

    // The end of an exchange.

    private void forgetAttempt() {
        attempt = null;
        response.forget();
        request.onExchangeEnd();
        int unread = window.forgetResponse();
        if (unread > 0) {
            connection.handler.giveBack(http2, unread);
        }
    }

    private void forgetExchange(boolean failed) {
        forgetAttempt();
        connection.pooled.onExchangeEnd(failed, beginNanos, answerNanos);
    }

    /** Ends a tunnel. The worker has ended its direction, and the client has ended or cancelled. */
    private void endTunnel() {
        forgetExchange(false);
        leave();
    }

    /**
     * Later, because the outlet may be in a flush, and bytes may be behind the frame that is being
     * read.
     */
    private void leave() {
        state = State.LEAVING;
        connection.expectFromWorker(this);
        connection.loop().execute(this::onLeft);
    }

    private void onLeft() {
        if (state == State.LEAVING && !window.hasStaleRequestBytes()) {
            connection.onAnswered(this);
            onOver();
        }
    }

    private void onOver() {
        state = State.IDLE;
        connection.shard.workers().onStreamFree(connection.pooled, this);
    }

    /** Closes the stream, because either side has reset it, or its connection is closed. */
    void close(@Nullable String reason) {
        if (state == State.CLOSED) {
            return;
        }
        boolean wasFree = state == State.IDLE;
        state = State.CLOSED;
        Attempt lost = attempt;
        attempt = null;
        request.close();
        response.close();
        connection.onAnswered(this);
        connection.onStreamClosed(this, wasFree);
        if (lost != null) {
            connection.pooled.onExchangeEnd(true);
            lost.onLost(new Failure(Failure.Kind.WORKER_LOST, "the worker was lost: " + reason));
        }
    }

    /** The response has had too many interim responses. */
    void onInterimDropped() {
        connection.port.observer.onProtection(Protection.INTERIM_DROPPED);
    }

    /** For error messages. */
    String stateName() {
        return state.name();
    }
}
