package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.loop.FairQueue;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.RequestSnapshot;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.http.Grpc;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.TunnelHead;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * A request on its way to a worker stream, and its response on the way back. {@link Attempts} are
 * the tries to get a response, and {@link Replay} is the body that they send. Confined to the
 * client's event loop.
 *
 * <pre>
 *             ┌──────the request is sent again──────┐
 *             ▼                                     │
 *          WAITING ──a carrier is found──▶ SENT ────┴──response──▶ RESPONDING ──its end──▶ ENDED
 *                                            │
 *                 response that opens a tunnel
 *                                            ▼
 *            TUNNEL ──one direction ends──▶ CLIENT_ENDED or WORKER_ENDED ──the other──▶ ENDED
 *   any ──the client leaves, or there is no response──▶ ENDED
 * </pre>
 */
public final class Exchange extends DeadlineQueue.Entry implements RequestSink {

    private enum State {
        /** Has no carrier. */
        WAITING,
        /** One or several tries are in flight. Nothing of a final response has been passed on. */
        SENT,
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

    private final ExchangeOwner owner;
    private final ExchangeReport report;
    private final RequestHead head = new RequestHead();
    private final Replay body;
    private final QueuePlace place;
    private final Attempts attempts;

    // begin() sets all fields that follow.

    private ResponseSink response;
    private TrafficPolicy policy;
    private long startNanos;

    private State state;

    /** {@code null} if the policy needs none, or none is needed for this request. */
    private @Nullable ExchangeTimer timer;

    /** Whether the response's headers have been passed on. */
    private boolean answered;

    /** Whether a queue or another event loop may still refer to this object after the end. */
    private boolean shared;

    private boolean detached;

    private long untakenBytes;

    public Exchange(
            ExchangeOwner owner, Http2Headers head, boolean bodyless, ResponseSink response, TrafficPolicy policy) {
        this.owner = owner;
        report = new ExchangeReport(owner.function());
        body = new Replay(owner);
        place = new QueuePlace(this, owner);
        attempts = new Attempts(this, owner, this.head, body, report);
        begin(head, bodyless, response, policy);
    }

    /**
     * Returns an exchange for a new request: the one that {@code response} has ended with, or a new
     * object.
     */
    public static Exchange begin(
            ExchangeOwner owner, Http2Headers head, boolean bodyless, ResponseSink response, TrafficPolicy policy) {
        Exchange ended = response.requester().takeEndedExchange();
        if (ended == null || ended.owner != owner || ended.shared || ended.state != State.ENDED) {
            return new Exchange(owner, head, bodyless, response, policy);
        }
        ended.report.reset();
        ended.body.reset();
        ended.place.reset();
        ended.attempts.reset();
        ended.begin(head, bodyless, response, policy);
        return ended;
    }

    private void begin(Http2Headers headers, boolean bodyless, ResponseSink sink, TrafficPolicy applied) {
        head.reset(headers, bodyless);
        if (bodyless) {
            body.onEnd();
        }
        response = sink;
        policy = applied;
        startNanos = owner.nanoTime();
        state = State.WAITING;
        timer = ExchangeTimer.of(this, owner, applied, headers);
        answered = false;
        shared = false;
        detached = false;
        untakenBytes = 0;
    }

    /**
     * Starts the deadline of a new request.
     *
     * @return false if the client no longer waits, and the exchange has failed
     */
    public boolean startDeadline() {
        ExchangeTimer own = timer;
        if (own == null || own.start()) {
            return true;
        }
        failLate(own);
        return false;
    }

    void failLate(ExchangeTimer own) {
        fail(own.lateFailure(state == State.WAITING ? "no worker free" : "no complete response"));
    }

    /**
     * Fails a queued request that would probably not be served before its deadline.
     *
     * @return whether it has failed
     */
    public boolean failIfHopeless(long nowNanos) {
        ExchangeTimer own = timer;
        if (own == null || !own.isHopeless(place.ticket(), nowNanos)) {
            return false;
        }
        failLate(own);
        return true;
    }

    // From the pool: the next try.

    /**
     * Starts the next try. {@link #carryOn} follows.
     *
     * @return time at which the first try started, by the event loop's clock, which is read as
     *     rarely as possible
     */
    public long onCarrierFound(Carrier found) {
        assert state == State.WAITING : state;
        state = State.SENT;
        boolean first = attempts.count() == 0;
        if (first && policy.isFiltered()) {
            response.onSent();
        }
        long sinceNanos = attempts.begin(found, first && place.ticket() == null ? startNanos : owner.nanoTime());
        shared |= attempts.isCrossing();
        return sinceNanos;
    }

    /** Gives the request to the carrier that was found. */
    public void carryOn(Carrier found) {
        assert state == State.SENT : state;
        attempts.carry(found);
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
        attempts.onStranded();
        if (timer != null) {
            timer.cancelNextTry();
        }
        return true;
    }

    public Attempts attempts() {
        return attempts;
    }

    // From the tries.

    /** Prepares for another try, which gets the sent part of the body again. */
    void waitAgain() {
        shared = true;
        state = State.WAITING;
        body.rewind();
        if (timer != null) {
            timer.cancelNextTry();
        }
    }

    /** Several tries are in flight, and the carriers of those that lose may refer to them. */
    void onOverlap() {
        shared = true;
    }

    /** A try is in flight, and nothing of a final response has been passed on. */
    boolean isSent() {
        return state == State.SENT;
    }

    /** The policy wants another try, because there is no response yet. */
    void onNextTryDue(ExchangeTimer own, long nowNanos) {
        if (state == State.SENT) {
            attempts.onNextTryDue(own, nowNanos);
        }
    }

    @Nullable
    ExchangeTimer timer() {
        return timer;
    }

    // In the queue.

    public QueuePlace place() {
        return place;
    }

    /** Notes that the exchange is queued with this ticket. */
    public void onWaiting(FairQueue.Ticket<Exchange> ticket) {
        if (report.waitReason() == null) {
            report.onWaiting(owner.waitReason());
        }
        shared = true;
        place.setTicket(ticket);
    }

    /** Notes that the exchange will wait, although there may be free worker streams. */
    public void onSetAside(WaitReason reason) {
        report.onWaiting(reason);
    }

    /** Returns whether the client delays the exchange: it does not send, or does not read. */
    boolean isHeldUp() {
        return untakenBytes > 0 || awaitsBody() && !body.fillsWindow();
    }

    /** An answered gRPC call and a tunnel may stay open without a byte from the client. */
    boolean awaitsBody() {
        return !body.isEnded() && (state == State.SENT || state == State.RESPONDING && !Grpc.isCall(head.fields()));
    }

    /**
     * Returns whether so much of the request's body waits for the worker that the client may have
     * to wait.
     */
    public boolean fillsWindow() {
        return body.fillsWindow();
    }

    /** Returns the policy of the request's route, or of its function if the route has none. */
    public TrafficPolicy policy() {
        return policy;
    }

    /** Returns a key that is equal for all requests of one client. */
    Object client() {
        return response.requester().key(head.fields());
    }

    /** Returns when the request arrived, by the event loop's clock. */
    public long startNanos() {
        return startNanos;
    }

    // From the client.

    @Override
    public void data(ByteBuf data, boolean end) {
        int bytes = data.readableBytes();
        body.onPart(bytes);
        if (end) {
            endRequest();
        }
        switch (state) {
            case WAITING -> {
                body.hold(data);
                owner.onHeld(this, bytes);
            }
            case SENT, RESPONDING, TUNNEL, WORKER_ENDED -> attempts.send(data, end);
            case CLIENT_ENDED, ENDED -> data.release();
        }
        if (end) {
            onClientEnded();
        }
    }

    @Override
    public void trailers(Http2Headers trailers) {
        endRequest();
        switch (state) {
            case WAITING -> {
                body.hold(trailers);
                owner.onHeld(this, body.trailerBytes());
            }
            case SENT, RESPONDING, TUNNEL, WORKER_ENDED -> attempts.send(trailers);
            case CLIENT_ENDED, ENDED -> {}
        }
        onClientEnded();
    }

    private void endRequest() {
        body.onEnd();
        if (timer != null) {
            timer.onRequestEnd(owner.nanoTime());
            if (state == State.SENT) {
                attempts.setTimer();
            }
        }
    }

    /** Of an open tunnel, the client ends its direction. The worker's direction stays open. */
    private void onClientEnded() {
        if (state == State.TUNNEL) {
            state = State.CLIENT_ENDED;
        } else if (state == State.WORKER_ENDED) {
            end(Outcome.COMPLETED, null);
        }
        owner.onRequestEnded(this);
    }

    @Override
    public void cancel(ErrorCode code) {
        if (state != State.ENDED) {
            // A worker that has ended its direction of a tunnel sends nothing more.
            Outcome outcome = state == State.WORKER_ENDED ? Outcome.COMPLETED : Outcome.CANCELLED;
            attempts.cancel(code);
            if (state == State.ENDED) {
                return; // A handler of this program has cancelled it, too.
            }
            if (code == ErrorCode.INTERNAL) {
                end(Outcome.FAILED, new Failure(Failure.Kind.BAD_RESPONSE, "the response could not be passed on"));
            } else {
                end(outcome, null);
            }
        }
    }

    @Override
    public void responseTaken(int bytes) {
        untakenBytes -= bytes;
        attempts.responseTaken(bytes);
    }

    @Override
    public long heldBytes() {
        return head.bytes() + body.heldBytes() + attempts.heldBytes();
    }

    @Override
    public void detach() {
        detached = true;
    }

    /**
     * Returns the memory of the queued request in bytes: its headers, and the part of its body and
     * trailers that has arrived.
     */
    public long waitingBytes() {
        return head.bytes() + body.bytes() + body.trailerBytes();
    }

    public boolean isRequestEnded() {
        return body.isEnded();
    }

    /**
     * Returns whether the next step is the client's: to end the request, or to read what has
     * arrived of the response.
     */
    public boolean isWaitingForClient() {
        return !body.isEnded() || untakenBytes > 0;
    }

    /** Returns whether the complete request has arrived and its body has at most this size. */
    public boolean isHeldWhole(int maxBodyBytes) {
        return body.bytes() <= maxBodyBytes && body.isEnded();
    }

    public boolean isIdempotent() {
        return head.isIdempotent();
    }

    /**
     * Returns whether the two directions of the exchange end separately if the response's status is
     * 2xx (RFC 9110 section 9.3.6, RFC 8441 section 4).
     */
    public static boolean isTunnel(Http2Headers requestHead) {
        return Methods.isConnect(requestHead.method());
    }

    /** Returns whether the request becomes a tunnel if the response's status is 2xx. */
    public boolean asksForTunnel() {
        return head.asksForTunnel();
    }

    public boolean lastsLong() {
        return head.lastsLong();
    }

    Http2Headers headers() {
        return head.fields();
    }

    // To the client: the response of the try that was chosen.

    void onInterim(Http2Headers interim) {
        if (state == State.SENT) {
            response.onInterim(interim);
        }
    }

    boolean isDoneWithHead() {
        return response.isDoneWithHead();
    }

    void onHead(Http2Headers responseHead, int status, boolean end, long nowNanos) {
        state = State.RESPONDING;
        body.forget();
        answered = true;
        boolean tunnel = head.asksForTunnel() && TunnelHead.opens(responseHead);
        report.onHead(status, nowNanos - startNanos, tunnel);
        place.mark(responseHead, attempts.workerId());
        if (tunnel) {
            openTunnel();
        } else if (place.holds() && Grpc.isCall(head.fields())) {
            place.releaseUnlessPreempted();
        }
        response.onHead(responseHead, end);
        endIf(end);
    }

    private void openTunnel() {
        state = body.isEnded() ? State.CLIENT_ENDED : State.TUNNEL;
        place.release();
        cancelTimer();
        owner.onTunnelOpened(this);
    }

    private boolean isResponding() {
        return state == State.RESPONDING || state == State.TUNNEL || state == State.CLIENT_ENDED;
    }

    void onData(ByteBuf data, boolean end) {
        untakenBytes += data.readableBytes();
        if (isResponding()) {
            report.onData(data.readableBytes());
            response.onData(data, end);
            endIf(end);
        } else {
            responseTaken(data.readableBytes());
            data.release();
        }
    }

    void onTrailers(Http2Headers trailers) {
        if (isResponding()) {
            response.onTrailers(trailers);
            endIf(true);
        }
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

    /** @param ofTry all bytes of the body that the worker of one try has taken */
    void onRequestTaken(long ofTry) {
        long more = detached ? -1 : body.onTaken(ofTry);
        if (more >= 0) {
            response.onRequestTaken((int) more);
        }
    }

    /** Returns whether the client has got the response's headers. */
    public boolean isAnswered() {
        return answered;
    }

    // The end.

    /** Answers the client with an error, or cuts the response off. Has no effect after the end. */
    public void fail(Failure failure) {
        if (state != State.ENDED) {
            boolean late = failure.kind() == Failure.Kind.TIMEOUT || failure.kind() == Failure.Kind.DEADLINE_EXCEEDED;
            attempts.cancel(late ? ErrorCode.TIMEOUT : ErrorCode.CANCELLED);
            endFailed(failure);
        }
    }

    /** Ends the exchange. No try is in flight any more. */
    void endFailed(Failure failure) {
        if (state != State.ENDED) {
            Failure told = attempts.told(failure);
            end(Outcome.FAILED, told);
            response.onFailure(told);
        }
    }

    private void end(Outcome outcome, @Nullable Failure failure) {
        state = State.ENDED;
        cancelTimer();
        place.leaveBulkhead();
        body.release();
        owner.onEnded(this, outcome, failure);
    }

    private void cancelTimer() {
        if (timer != null) {
            timer.cancel();
        }
    }

    public boolean isEnded() {
        return state == State.ENDED;
    }

    // For the observer.

    public void announceTo(DispatcherObserver observer) {
        report.announceTo(observer, head.fields(), response);
    }

    public void report(Outcome outcome, @Nullable Failure failure) {
        if (report.isFollowed()) {
            attempts.report(startNanos, owner.nanoTime());
            report.onRequest(head.fields(), body.bytes(), place.sessionResult());
            report.onEnd(outcome, failure, null, response);
            report.passOn();
        }
    }

    /** Returns the state of the exchange now. {@code queue} says why it waits, if it does. */
    public RequestSnapshot snapshot(RequestSnapshot.State queue) {
        RequestSnapshot.State now = switch (state) {
            case WAITING -> queue;
            case SENT -> RequestSnapshot.State.SENT;
            case RESPONDING, ENDED -> RequestSnapshot.State.RESPONDING;
            case TUNNEL, CLIENT_ENDED, WORKER_ENDED -> RequestSnapshot.State.TUNNEL;
        };
        return new RequestSnapshot(
                owner.function(),
                now,
                state == State.WAITING ? null : attempts.workerId(),
                head.methodText(),
                head.pathText(),
                response.requester().remoteAddress(),
                head.textOf(policy.admission().tenantHeader()),
                response.requester().protocol(),
                owner.nanoTime() - startNanos,
                attempts.count(),
                body.bytes(),
                report.responseBytes(),
                untakenBytes);
    }
}
