package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.loop.FairQueue;
import io.lambdadispatcher.core.internal.policy.ClientSession;
import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.RequestSnapshot;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.wire.http.Grpc;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.net.SocketAddress;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A request on its way to a worker stream, and its response on the way back. It waits for a stream,
 * holds the part of the body that arrives until then (bounded by the client's window), and decides
 * whether a failed attempt is repeated. Confined to the client's event loop.
 */
public final class Exchange extends DeadlineQueue.Entry implements RequestSink, Attempt, ExchangeStart {

    private enum State {
        /** Has no worker stream. */
        WAITING,
        /**
         * On its way to a worker stream of another event loop, which may be closed on arrival. The
         * body stays here.
         */
        CROSSING,
        /** A worker stream carries it. Nothing of the final response has been passed on. */
        CARRIED,
        /** The client has the response headers, so the request cannot be repeated. */
        RESPONDING,
        /** A tunnel is open. No timeout applies, and its two directions end separately. */
        TUNNEL,
        /** The client has ended its direction of a tunnel. The worker has not. */
        CLIENT_ENDED,
        /** The worker has ended its direction of a tunnel. The client has not. */
        WORKER_ENDED,
        ENDED
    }

    /**
     * A failed request is sent once more, to another worker or, if no other is free, to the same
     * one.
     */
    private static final int MAX_ATTEMPTS = 2;

    /** Maximum part of a sent body that is kept for another attempt. */
    private static final int MAX_SENT_BYTES = 512 * 1024;

    /** Memory of the objects of a header, without its characters. */
    private static final int FIELD_BYTES = 96;

    /** Clients can send paths of 64 KiB, and a snapshot may list many requests. */
    private static final int SNAPSHOT_CHARACTERS = 512;

    private final ExchangeOwner owner;

    // begin() sets all fields that follow.

    private Http2Headers head;
    private boolean bodyless;

    /** Looked up once, because the headers have left the processor's cache when it is asked for. */
    private boolean tunnelRequested;

    private ResponseSink response;
    private long startNanos;

    private @Nullable ExchangeListener listener;

    private State state;
    private int attempts;
    private boolean bodyForwarded;

    // Kept after the end, because bytes that the client has not read still count in the memory of a
    // direct call.
    private @Nullable RequestSink carrier;
    private @Nullable Carrier lastCarrier;
    private @Nullable String failedWorker;
    private long carriedNanos;
    private long lastAttemptNanos;
    /** 0 if the response's headers have not arrived. */
    private long headNanos;

    private long handlerWaitMicros;
    private long handlerMicros;
    private @Nullable WaitReason waitReason;

    /** {@code null} if the request was never queued. */
    private FairQueue.@Nullable Ticket<Exchange> ticket;

    private @Nullable ClientShare share;

    /** {@code null} if affinity has no effect on the request. */
    private @Nullable ClientSession session;

    /** The share in which the request holds a place until its body ends. */
    private @Nullable ClientShare heldFrom;

    // The part of the body that arrived before a worker stream was found.
    private @Nullable EarlyBody earlyData;
    private @Nullable Http2Headers earlyTrailers;

    /**
     * The part of the body that was sent to the worker; {@code null} if none was sent, or it is not
     * kept.
     */
    private @Nullable EarlyBody sentBody;

    private int sentBytes;

    /** Bytes of the body that the worker of this attempt has taken. */
    private long attemptTakenBytes;
    /** Bytes of the body that some worker has taken, and that the client may replace. */
    private long takenRequestBytes;

    private boolean requestEnded;
    private boolean arrived;

    /** Whether a queue or another event loop may still refer to this object after the end. */
    private boolean shared;

    private boolean detached;

    private long requestBytes;
    private long responseBytes;
    private long untakenBytes;
    private int status;

    /** Memory of the headers, in bytes; 0 if not calculated yet. */
    private int headBytes;

    public Exchange(ExchangeOwner owner, Http2Headers head, boolean bodyless, ResponseSink response) {
        this.owner = owner;
        begin(head, bodyless, response);
    }

    /**
     * Returns an exchange for a new request: the one that {@code response} has ended with, or a new
     * object.
     */
    public static Exchange begin(ExchangeOwner owner, Http2Headers head, boolean bodyless, ResponseSink response) {
        Exchange ended = response.takeEndedExchange();
        if (ended == null || ended.owner != owner || ended.shared || ended.state != State.ENDED) {
            return new Exchange(owner, head, bodyless, response);
        }
        ended.begin(head, bodyless, response);
        return ended;
    }

    private void begin(Http2Headers requestHead, boolean withoutBody, ResponseSink sink) {
        head = requestHead;
        bodyless = withoutBody;
        tunnelRequested = isTunnel(requestHead);
        response = sink;
        startNanos = owner.nanoTime();
        listener = null;
        state = State.WAITING;
        attempts = 0;
        bodyForwarded = false;
        carrier = null;
        lastCarrier = null;
        failedWorker = null;
        carriedNanos = 0;
        lastAttemptNanos = 0;
        headNanos = 0;
        handlerWaitMicros = -1;
        handlerMicros = -1;
        waitReason = null;
        ticket = null;
        share = null;
        session = null;
        heldFrom = null;
        earlyData = null;
        earlyTrailers = null;
        sentBody = null;
        sentBytes = 0;
        attemptTakenBytes = 0;
        takenRequestBytes = 0;
        requestEnded = withoutBody;
        arrived = false;
        shared = false;
        detached = false;
        requestBytes = 0;
        responseBytes = 0;
        untakenBytes = 0;
        status = 0;
        headBytes = 0;
    }

    /** Sets the session that chooses the request's worker. Called before the first attempt. */
    public void setSession(@Nullable ClientSession value) {
        session = value;
    }

    /** Returns the session that chooses the request's worker; {@code null} = any worker. */
    public @Nullable ClientSession session() {
        return session;
    }

    /** Gives the request to a worker stream of this event loop. */
    public void carryOn(Carrier stream) {
        assert state == State.CARRIED : state;
        RequestSink sink = stream.carry(head, bodyless, timeoutMillis(), this);
        if (state != State.WAITING) {
            carrier = sink;
            forwardEarly(sink);
        }
    }

    /**
     * Sends the headers to a worker stream of another event loop. {@link #onArrived} or {@link
     * #onStranded} follows.
     */
    public void crossOver(Carrier crossing) {
        assert state == State.CARRIED : state;
        state = State.CROSSING;
        shared = true;
        crossing.carry(head, bodyless, timeoutMillis(), this);
    }

    /** A worker stream of another event loop has accepted the headers. */
    public void onArrived(RequestSink sink) {
        carrier = sink;
        if (state == State.ENDED) {
            sink.cancel(ErrorCode.CANCELLED);
        } else {
            state = State.CARRIED;
            forwardEarly(sink);
        }
    }

    /**
     * No worker stream was found on the other event loop.
     *
     * @return false if the exchange has ended meanwhile; otherwise it waits as before
     */
    public boolean onStranded() {
        if (state == State.ENDED) {
            return false;
        }
        state = State.WAITING;
        attempts--;
        return true;
    }

    /**
     * Starts the next attempt. {@link #carryOn} or {@link #crossOver} follows.
     *
     * @return time at which the first attempt started, by the event loop's clock, which is read as
     *     rarely as possible
     */
    public long onCarrierFound(Carrier found) {
        assert state == State.WAITING : state;
        state = State.CARRIED;
        lastCarrier = found;
        lastAttemptNanos = ticket != null || attempts > 0 ? owner.nanoTime() : startNanos;
        if (attempts++ == 0) {
            carriedNanos = lastAttemptNanos;
        }
        if (listener != null) {
            announceAttempt(listener);
        }
        return carriedNanos;
    }

    /**
     * Returns the worker of the failed attempt, which the next attempt avoids if possible; {@code
     * null} before the first attempt.
     */
    public @Nullable String failedWorker() {
        return failedWorker;
    }

    /** Allows the worker of the failed attempt again, because there is no other. */
    public void avoidNoWorker() {
        failedWorker = null;
    }

    /**
     * Returns the current or the last place in the queue; {@code null} if the request was never
     * queued.
     */
    public FairQueue.@Nullable Ticket<Exchange> ticket() {
        return ticket;
    }

    /** Notes that the exchange is queued with this ticket. */
    public void onWaiting(FairQueue.Ticket<Exchange> place) {
        if (waitReason == null) {
            waitReason = owner.waitReason();
        }
        shared = true;
        ticket = place;
    }

    /** Notes that the exchange will wait, although there may be free worker streams. */
    public void onSetAside(WaitReason reason) {
        waitReason = reason;
    }

    /** Returns the client's share of the function. {@link #releaseShare} must follow at the end. */
    public ClientShare share(ClientShares shares) {
        ClientShare own = share;
        if (own == null) {
            own = shares.acquire(response.client(head));
            share = own;
        }
        return own;
    }

    /**
     * Holds a place in a share until {@link #release}.
     *
     * @return false if {@code limit} places of the share are held
     */
    public boolean hold(ClientShare from, int limit) {
        boolean held = from.tryHold(limit);
        heldFrom = held ? from : null;
        return held;
    }

    public boolean holds() {
        return heldFrom != null;
    }

    /**
     * Releases the place, because the request has ended or may stay open. The request of a slow
     * reader keeps its place until the response ends.
     */
    public void releaseUnlessSlow() {
        if (heldFrom != null && (share == null || !share.isSlow(owner.nanoTime()))) {
            release();
        }
    }

    /** Returns true once, when the request counts as arrived in the demand for workers. */
    public boolean countsAsArrived() {
        boolean first = !arrived;
        arrived = true;
        return first;
    }

    /** @return false if it held no place */
    public boolean release() {
        ClientShare from = heldFrom;
        if (from == null) {
            return false;
        }
        heldFrom = null;
        from.release();
        return true;
    }

    /** Releases the share at the end. Has no effect if {@link #share} was not called. */
    public void releaseShare(ClientShares shares) {
        if (share != null) {
            shares.release(share);
            share = null;
        }
    }

    /** Returns when the request arrived, by the event loop's clock. */
    public long startNanos() {
        return startNanos;
    }

    private int timeoutMillis() {
        long limitNanos = owner.requestTimeoutNanos();
        if (limitNanos == 0) {
            return 0;
        }
        long leftNanos = limitNanos - (lastAttemptNanos - carriedNanos);
        return (int) Math.max(1, Math.min(Integer.MAX_VALUE, TimeUnit.NANOSECONDS.toMillis(leftNanos)));
    }

    private void forwardEarly(RequestSink sink) {
        EarlyBody held = earlyData;
        earlyData = null;
        if (held != null && state != State.ENDED) {
            for (ByteBuf data = held.poll(); data != null; data = held.poll()) {
                keepSent(data);
                sink.data(data, held.isEmpty() && requestEnded && earlyTrailers == null);
            }
        }
        if (earlyTrailers != null && state != State.ENDED) {
            keepSent(Unpooled.EMPTY_BUFFER);
            sink.trailers(earlyTrailers);
        }
    }

    /** Keeps a part of the body that is about to be sent, if there may be another attempt. */
    private void keepSent(ByteBuf data) {
        if (!bodyForwarded) {
            bodyForwarded = true;
            boolean keeps = state == State.CARRIED && (isIdempotent() || owner.mayBeBusy());
            sentBody = keeps && owner.mayKeepSent(0) ? new EarlyBody() : null;
        }
        if (sentBody == null) {
            return;
        }
        int bytes = data.readableBytes();
        if (sentBytes + bytes > MAX_SENT_BYTES || !owner.mayKeepSent(bytes)) {
            dropSent();
        } else {
            sentBytes += bytes;
            sentBody.add(data.retainedDuplicate());
        }
    }

    private void dropSent() {
        if (sentBody != null) {
            sentBody.release();
            sentBody = null;
            owner.onSentDropped(sentBytes);
            sentBytes = 0;
        }
    }

    /** Returns whether another worker could get the complete request. */
    private boolean isRepeatable() {
        return state == State.CARRIED && (!bodyForwarded || sentBody != null);
    }

    /** Prepares for another attempt, which gets the sent part of the body again. */
    private void waitAgain() {
        shared = true;
        carrier = null;
        state = State.WAITING;
        handlerWaitMicros = -1;
        handlerMicros = -1;
        if (sentBody != null) {
            earlyData = sentBody;
            sentBody = null;
            owner.onSentDropped(sentBytes);
            sentBytes = 0;
        }
        bodyForwarded = false;
        attemptTakenBytes = 0;
    }

    // From the client.

    @Override
    public void data(ByteBuf data, boolean end) {
        requestBytes += data.readableBytes();
        requestEnded |= end;
        switch (state) {
            case WAITING, CROSSING -> {
                if (earlyData == null) {
                    earlyData = new EarlyBody();
                }
                int bytes = data.readableBytes();
                earlyData.add(data);
                if (state == State.WAITING) {
                    owner.onHeld(this, bytes);
                }
            }
            case CARRIED, RESPONDING -> {
                keepSent(data);
                carrier().data(data, end);
            }
            case TUNNEL, WORKER_ENDED -> {
                carrier().data(data, end);
                if (end) {
                    onClientEnded();
                }
            }
            case CLIENT_ENDED, ENDED -> data.release();
        }
        if (end) {
            owner.onRequestEnded(this);
        }
    }

    @Override
    public void trailers(Http2Headers trailers) {
        requestEnded = true;
        switch (state) {
            case WAITING, CROSSING -> {
                earlyTrailers = trailers;
                if (state == State.WAITING) {
                    owner.onHeld(this, headBytes(trailers));
                }
            }
            case CARRIED, RESPONDING -> {
                keepSent(Unpooled.EMPTY_BUFFER);
                earlyTrailers = sentBody == null ? null : trailers;
                carrier().trailers(trailers);
            }
            case TUNNEL, WORKER_ENDED -> {
                carrier().trailers(trailers);
                onClientEnded();
            }
            case CLIENT_ENDED, ENDED -> {}
        }
        owner.onRequestEnded(this);
    }

    /** The client ends its direction of an open tunnel. The worker's direction stays open. */
    private void onClientEnded() {
        if (state == State.TUNNEL) {
            state = State.CLIENT_ENDED;
        } else if (state == State.WORKER_ENDED) {
            end(Outcome.COMPLETED, null);
        }
    }

    @Override
    public void cancel(ErrorCode code) {
        if (state != State.ENDED) {
            // A worker that has ended its direction of a tunnel sends nothing more.
            Outcome outcome = state == State.WORKER_ENDED ? Outcome.COMPLETED : Outcome.CANCELLED;
            cancelCarrier(code);
            end(outcome, null);
        }
    }

    @Override
    public void responseTaken(int bytes) {
        untakenBytes -= bytes;
        if (carrier == null) {
            return;
        }
        if (state == State.ENDED) {
            carrier.endedResponseTaken(bytes);
        } else {
            carrier.responseTaken(bytes);
        }
    }

    @Override
    public long heldBytes() {
        return headBytes()
                + earlyTrailersBytes()
                + (earlyData == null ? 0 : earlyData.overheadBytes())
                + sentBytes
                + (carrier == null ? 0 : carrier.heldBytes());
    }

    /**
     * Returns the memory of the queued request in bytes: its headers, and the part of its body and
     * trailers that has arrived.
     */
    public long waitingBytes() {
        return headBytes() + requestBytes + earlyTrailersBytes();
    }

    private int earlyTrailersBytes() {
        return earlyTrailers == null ? 0 : headBytes(earlyTrailers);
    }

    private int headBytes() {
        if (headBytes == 0) {
            headBytes = headBytes(head);
        }
        return headBytes;
    }

    private static int headBytes(Http2Headers head) {
        int bytes = 0;
        for (Map.Entry<CharSequence, CharSequence> field : head) {
            bytes += FIELD_BYTES + field.getKey().length() + field.getValue().length();
        }
        return bytes;
    }

    // From the dispatcher.

    /** Answers the client with an error, or cuts the response off. Has no effect after the end. */
    public void fail(Failure failure) {
        if (state != State.ENDED) {
            cancelCarrier(failure.kind() == Failure.Kind.TIMEOUT ? ErrorCode.TIMEOUT : ErrorCode.CANCELLED);
            endFailed(failure);
        }
    }

    /** Ends the exchange. The carrier no longer refers to it, or has been told to cancel it. */
    private void endFailed(Failure failure) {
        if (state != State.ENDED) {
            end(Outcome.FAILED, failure);
            response.onFailure(failure);
        }
    }

    // From the worker stream.

    @Override
    public void onInterim(Http2Headers interim) {
        if (state == State.CARRIED) {
            response.onInterim(interim);
        }
    }

    @Override
    public boolean isDoneWithHead() {
        return response.isDoneWithHead();
    }

    @Override
    public void onHead(Http2Headers responseHead, boolean end) {
        if (state == State.CARRIED) {
            state = State.RESPONDING;
            dropSent();
            headNanos = owner.nanoTime();
            status = StatusCode.parse(responseHead.status());
            if (session != null) {
                markWorker(session, responseHead);
            }
            if (tunnelRequested && StatusCode.isSuccess(status)) {
                state = requestEnded ? State.CLIENT_ENDED : State.TUNNEL;
                release();
                owner.onTunnelOpened(this);
            } else if (heldFrom != null && Grpc.isCall(head)) {
                releaseUnlessSlow();
            }
            response.onHead(responseHead, end);
            endIf(end);
        }
    }

    private void markWorker(ClientSession itsSession, Http2Headers responseHead) {
        String workerId = lastCarrier == null ? null : lastCarrier.workerId();
        if (workerId != null) {
            itsSession.mark(responseHead, workerId);
        }
    }

    /**
     * Returns whether the two directions of the exchange end separately if the response's status is
     * 2xx (RFC 9110 section 9.3.6, RFC 8441 section 4).
     */
    public static boolean isTunnel(Http2Headers requestHead) {
        return Methods.isConnect(requestHead.method());
    }

    private boolean isResponding() {
        return state == State.RESPONDING || state == State.TUNNEL || state == State.CLIENT_ENDED;
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        if (isResponding()) {
            responseBytes += data.readableBytes();
            untakenBytes += data.readableBytes();
            response.onData(data, end);
            endIf(end);
        } else {
            untakenBytes += data.readableBytes();
            responseTaken(data.readableBytes());
            data.release();
        }
    }

    @Override
    public void onTrailers(Http2Headers trailers) {
        if (isResponding()) {
            response.onTrailers(trailers);
            endIf(true);
        }
    }

    /** The exchange has ended, and its sink now serves another request. */
    public void detach() {
        detached = true;
    }

    @Override
    public void onRequestTaken(int bytes) {
        if (detached) {
            return;
        }
        attemptTakenBytes += bytes;
        // The worker of an earlier attempt may have taken the same bytes.
        long more = attemptTakenBytes - takenRequestBytes;
        if (more >= 0) {
            takenRequestBytes = attemptTakenBytes;
            response.onRequestTaken((int) more);
        }
    }

    @Override
    public void onFailure(Failure failure) {
        endFailed(failure);
    }

    @Override
    public void onTiming(long waitMicros, long micros) {
        handlerWaitMicros = waitMicros;
        handlerMicros = micros;
    }

    @Override
    public void onRefused(Failure failure) {
        retryOrFail(failure, true);
    }

    @Override
    public void onLost(Failure failure) {
        retryOrFail(failure, isIdempotent());
    }

    @Override
    public void onBusy(Failure failure) {
        if (isRepeatable()) {
            waitAgain();
            attempts--;
            if (owner.requeue(this)) {
                return;
            }
        }
        endFailed(failure);
    }

    private void retryOrFail(Failure failure, boolean harmless) {
        if (isRepeatable() && harmless && attempts < MAX_ATTEMPTS) {
            failedWorker = lastCarrier == null ? null : lastCarrier.workerId();
            waitAgain();
            if (listener != null) {
                reportAttempt(listener, failure);
            }
            if (owner.retry(this)) {
                return;
            }
        }
        endFailed(failure);
    }

    /** Returns whether the exchange has ended. */
    public boolean isEnded() {
        return state == State.ENDED;
    }

    /** Returns whether the client has sent the complete request. */
    public boolean isRequestEnded() {
        return requestEnded;
    }

    /**
     * Returns whether the next step is the client's: to end the request, or to read what has
     * arrived of the response.
     */
    public boolean isWaitingForClient() {
        return !requestEnded || untakenBytes > 0;
    }

    /**
     * Returns the bytes of the response that have arrived from the worker and that the client has
     * not read.
     */
    public long untakenBytes() {
        return untakenBytes;
    }

    /** Returns the bytes of the response that the client has read. */
    public long takenBytes() {
        return responseBytes - untakenBytes;
    }

    /** Returns whether the complete request has arrived and its body has at most this size. */
    public boolean isHeldWhole(int maxBodyBytes) {
        return requestBytes <= maxBodyBytes && requestEnded;
    }

    /** Returns whether the method is idempotent (RFC 9110 section 9.2.2). */
    public boolean isIdempotent() {
        return Methods.isIdempotent(head.method());
    }

    private void cancelCarrier(ErrorCode code) {
        if (carrier != null) {
            carrier.cancel(code);
        }
    }

    private RequestSink carrier() {
        if (carrier == null) {
            throw new IllegalStateException("no carrier in state " + state);
        }
        return carrier;
    }

    private void endIf(boolean last) {
        // The sink may have cancelled during its call.
        if (!last || state == State.ENDED) {
            return;
        }
        if (state == State.TUNNEL) {
            state = State.WORKER_ENDED;
        } else {
            end(Outcome.COMPLETED, null);
        }
    }

    private void end(Outcome outcome, @Nullable Failure failure) {
        state = State.ENDED;
        if (earlyData != null) {
            earlyData.release();
            earlyData = null;
        }
        dropSent();
        owner.onEnded(this, outcome, failure);
    }

    /**
     * Returns the time for which the exchange has had its worker stream, at the end. After a retry,
     * only the last stream counts.
     */
    public long serviceNanos() {
        return owner.nanoTime() - lastAttemptNanos;
    }

    // For the observer.

    @Override
    public String function() {
        return owner.function();
    }

    @Override
    public Http2Headers headers() {
        return head;
    }

    @Override
    public @Nullable SocketAddress remoteAddress() {
        return response.remoteAddress();
    }

    @Override
    public ClientProtocol protocol() {
        return response.protocol();
    }

    /** Tells the observer that the exchange has started. {@link #report} must follow at the end. */
    public void announceTo(DispatcherObserver observer) {
        listener = observer.onExchangeStart(this);
    }

    /** An exception is logged and does not affect the exchange. */
    private void announceAttempt(ExchangeListener to) {
        try {
            to.onAttempt(attempts, head);
        } catch (Throwable e) {
            FinishedExchange.failures.warn("the observer threw an exception in onAttempt()", e);
        }
    }

    private void reportAttempt(ExchangeListener to, Failure failure) {
        try {
            to.onAttemptFailed(failedWorker, failure.kind().token());
        } catch (Throwable e) {
            FinishedExchange.failures.warn("the observer threw an exception in onAttemptFailed()", e);
        }
    }

    /**
     * Tells the observer that the exchange has ended, if it returned a listener at the start.
     */
    public void report(Outcome outcome, @Nullable Failure failure) {
        if (listener != null) {
            describe(outcome, failure).reportTo(listener);
        }
    }

    /** Returns the state of the exchange now. {@code queue} says why it waits, if it does. */
    public RequestSnapshot snapshot(RequestSnapshot.State queue) {
        RequestSnapshot.State now = switch (state) {
            case WAITING -> queue;
            case CROSSING, CARRIED -> RequestSnapshot.State.SENT;
            case RESPONDING, ENDED -> RequestSnapshot.State.RESPONDING;
            case TUNNEL, CLIENT_ENDED, WORKER_ENDED -> RequestSnapshot.State.TUNNEL;
        };
        CharSequence path = head.path();
        int query = AsciiString.indexOf(path, '?', 0);
        return new RequestSnapshot(
                owner.function(),
                now,
                state == State.WAITING || lastCarrier == null ? null : lastCarrier.workerId(),
                start(head.method(), head.method().length()),
                start(path, query < 0 ? path.length() : query),
                response.remoteAddress(),
                response.protocol(),
                owner.nanoTime() - startNanos,
                attempts,
                requestBytes,
                responseBytes,
                untakenBytes);
    }

    private static String start(CharSequence text, int end) {
        return text.subSequence(0, Math.min(end, SNAPSHOT_CHARACTERS)).toString();
    }

    private FinishedExchange describe(Outcome outcome, @Nullable Failure failure) {
        long now = owner.nanoTime();
        int sent = failure != null && status == 0 ? failure.kind().status().code() : status;
        return new FinishedExchange(
                owner.function(),
                lastCarrier == null ? null : lastCarrier.workerId(),
                head,
                response.remoteAddress(),
                response.protocol(),
                sent,
                outcome,
                failure == null ? null : failure.kind().token(),
                waitReason,
                session == null ? null : session.result(),
                requestBytes,
                responseBytes,
                (attempts == 0 ? now : carriedNanos) - startNanos,
                headNanos == 0 ? -1 : headNanos - startNanos,
                now - startNanos,
                handlerWaitMicros < 0 ? -1 : handlerWaitMicros * 1000,
                handlerMicros < 0 ? -1 : handlerMicros * 1000,
                attempts,
                tunnelRequested && StatusCode.isSuccess(sent));
    }
}
