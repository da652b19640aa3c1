package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.loop.FairQueue;
import io.lambdadispatcher.core.internal.policy.ClientSession;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.RequestSnapshot;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.Priority;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.Grpc;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.TunnelHead;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.List;
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
        /** One or several tries are under way. Nothing of a final response has been passed on. */
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

    /** With this header, a client says that its request can be repeated. */
    private static final AsciiString IDEMPOTENCY_KEY = AsciiString.cached("idempotency-key");

    /** Clients can send paths of 64 KiB, and a snapshot may list many requests. */
    private static final int SNAPSHOT_CHARACTERS = 512;

    private final ExchangeOwner owner;
    private final ExchangeReport report;
    private final Replay body;
    private final Attempts attempts;

    // begin() sets all fields that follow.

    private Http2Headers head;
    private boolean bodyless;

    /** Looked up once, because the headers have left the processor's cache when it is asked for. */
    private boolean tunnelRequested;

    private ResponseSink response;
    private TrafficPolicy policy;
    private long startNanos;

    private State state;

    /** {@code null} if the policy needs none, or none is needed for this request. */
    private @Nullable ExchangeTimer timer;

    /** Whether the response's headers have been passed on. */
    private boolean answered;

    /** {@code null} if the request was never queued. */
    private FairQueue.@Nullable Ticket<Exchange> ticket;

    private @Nullable ClientShare share;

    /** {@code null} if affinity has no effect on the request. */
    private @Nullable ClientSession session;

    /** The share in which the request holds a place while it may hold up its worker stream. */
    private @Nullable ClientShare heldFrom;

    /** How much more often {@link #observe} found it waiting for the client than for the worker. */
    private int heldUp;

    /** {@code null} if no limit of concurrency applies. */
    private RequestAdmission.@Nullable Place place;

    /** {@code null} until it is asked for. */
    private @Nullable Priority priority;

    private boolean arrived;

    /** Whether a queue or another event loop may still refer to this object after the end. */
    private boolean shared;

    private boolean detached;

    private long untakenBytes;

    /** Memory of the headers, in bytes; 0 if not calculated yet. */
    private int headBytes;

    public Exchange(
            ExchangeOwner owner, Http2Headers head, boolean bodyless, ResponseSink response, TrafficPolicy policy) {
        this.owner = owner;
        report = new ExchangeReport(owner.function());
        body = new Replay(owner);
        attempts = new Attempts(this, owner, report);
        begin(head, bodyless, response, policy);
    }

    /**
     * Returns an exchange for a new request: the one that {@code response} has ended with, or a new
     * object.
     */
    public static Exchange begin(
            ExchangeOwner owner, Http2Headers head, boolean bodyless, ResponseSink response, TrafficPolicy policy) {
        Exchange ended = response.takeEndedExchange();
        if (ended == null || ended.owner != owner || ended.shared || ended.state != State.ENDED) {
            return new Exchange(owner, head, bodyless, response, policy);
        }
        ended.report.reset();
        ended.body.reset();
        ended.attempts.reset();
        ended.begin(head, bodyless, response, policy);
        return ended;
    }

    private void begin(Http2Headers requestHead, boolean withoutBody, ResponseSink sink, TrafficPolicy applied) {
        head = requestHead;
        bodyless = withoutBody;
        if (withoutBody) {
            body.onEnd();
        }
        tunnelRequested = isTunnel(requestHead);
        response = sink;
        policy = applied;
        startNanos = owner.nanoTime();
        state = State.WAITING;
        answered = false;
        ticket = null;
        share = null;
        session = null;
        heldFrom = null;
        heldUp = 0;
        place = null;
        priority = null;
        arrived = false;
        shared = false;
        detached = false;
        untakenBytes = 0;
        headBytes = 0;
        timer = ExchangeTimer.of(this, applied, requestHead, startNanos);
    }

    /**
     * Starts the deadline of a new request.
     *
     * @return false if the client no longer waits, and the exchange has failed
     */
    public boolean startDeadline() {
        ExchangeTimer own = timer;
        if (own != null && own.hasDeadline()) {
            if (own.leftNanos(startNanos) <= 0) {
                failLate(own);
                return false;
            }
            setTimer(own);
        }
        return true;
    }

    void setTimer(ExchangeTimer own) {
        if (own.isSet()) {
            owner.timers().set(own, own.dueNanos());
        }
    }

    /** A time of the policy has come. */
    void onTimer(ExchangeTimer own, long nowNanos) {
        if (timer != own || state == State.ENDED) {
            return;
        }
        switch (own.poll(nowNanos)) {
            case DEADLINE -> failLate(own);
            case NEXT_TRY -> attempts.onNextTryDue(own, nowNanos);
            case NONE -> {}
        }
        // Each of these can end the exchange, whose object may then serve another request.
        if (timer == own && !isEnded()) {
            setTimer(own);
        }
    }

    private void failLate(ExchangeTimer own) {
        fail(own.lateFailure(state == State.WAITING ? "no worker free" : "no complete response"));
    }

    /**
     * Fails a queued request that would probably not be served before its deadline.
     *
     * @return whether it has failed
     */
    public boolean failIfHopeless(long nowNanos) {
        ExchangeTimer own = timer;
        FairQueue.Ticket<Exchange> queued = ticket;
        boolean hopeless = own != null
                && queued != null
                && own.hasDeadline()
                && own.isHopeless(nowNanos, nowNanos - queued.sinceNanos(), owner.responseTimeNanos(0.95));
        if (hopeless) {
            failLate(own);
        }
        return hopeless;
    }

    /** Sets the session that chooses the request's worker. Called before the first attempt. */
    public void setSession(@Nullable ClientSession value) {
        session = value;
    }

    /** Returns the session that chooses the request's worker; {@code null} = any worker. */
    public @Nullable ClientSession session() {
        return session;
    }

    // From the pool: the next try.

    /** Returns the try that begins next, for a carrier that is made for it. */
    public Try nextTry() {
        return attempts.upcoming();
    }

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
        long sinceNanos = attempts.begin(found, head, first && ticket == null ? startNanos : owner.nanoTime());
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

    /** Returns the workers that the next try avoids if possible. */
    public List<String> triedWorkers() {
        return attempts.tried();
    }

    /** Allows all workers again, because there is no other. */
    public void avoidNoWorker() {
        attempts.avoidNoWorker();
    }

    /** Returns whether the last try, if there was one, was a direct call. */
    public boolean wasSentDirectly() {
        return attempts.wasDirect();
    }

    // From the tries.

    /** Sends a try what has arrived of the body. */
    void sendBody(Try to) {
        if (body.hasParts()) {
            body.send(to, mayBeRepeated());
        }
    }

    /** Returns whether a part of the body that is sent now should be kept, if it is the first. */
    private boolean mayBeRepeated() {
        return state == State.SENT && !body.hasBegun() && (isIdempotent() || owner.mayBeBusy());
    }

    /** Returns whether another worker could get the complete request. */
    boolean isRepeatable() {
        return state == State.SENT && body.isWhole();
    }

    /** Prepares for another try, which gets the sent part of the body again. */
    void waitAgain() {
        shared = true;
        state = State.WAITING;
        attempts.onWaiting();
        body.rewind();
        if (timer != null) {
            timer.cancelNextTry();
        }
    }

    /** Continues with a copy of the headers, because another event loop may still read them. */
    void copyHeaders() {
        head = new FlatHeaders().add(head);
    }

    /** A try is under way, and nothing of a final response has been passed on. */
    boolean isSent() {
        return state == State.SENT;
    }

    boolean isBodyless() {
        return bodyless;
    }

    boolean isTunnelRequested() {
        return tunnelRequested;
    }

    @Nullable
    ExchangeTimer timer() {
        return timer;
    }

    void setTicket(FairQueue.@Nullable Ticket<Exchange> inFront) {
        ticket = inFront;
    }

    // In the queue.

    /**
     * Returns the current or the last place in the queue; {@code null} if the request was never
     * queued.
     */
    public FairQueue.@Nullable Ticket<Exchange> ticket() {
        return ticket;
    }

    /** Notes that the exchange is queued with this ticket. */
    public void onWaiting(FairQueue.Ticket<Exchange> place) {
        if (report.waitReason() == null) {
            report.onWaiting(owner.waitReason());
        }
        shared = true;
        ticket = place;
    }

    /** Notes that the exchange will wait, although there may be free worker streams. */
    public void onSetAside(WaitReason reason) {
        report.onWaiting(reason);
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
     * Holds a place in a share until {@link #release}. It must hold none.
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
     * Releases the place, because the client no longer holds up the worker stream, or may do so.
     * Requests of a client that has lost streams keep their places until they end.
     */
    public void releaseUnlessPreempted() {
        if (heldFrom != null && (share == null || !share.isPreempted(owner.nanoTime()))) {
            release();
        }
    }

    /**
     * Releases the place if the share has more than {@code limit}.
     *
     * @return false if it holds no place, or continues to hold it
     */
    public boolean releaseAbove(int limit) {
        boolean released = heldFrom != null && heldFrom.tryRelease(limit);
        heldFrom = released ? null : heldFrom;
        return released;
    }

    /** Holds a place in the share of its client, and in no other, whatever the limit. */
    public void holdAlways(ClientShare client) {
        if (heldFrom != client) {
            release();
            hold(client, Integer.MAX_VALUE);
        }
    }

    /**
     * Counts whether the exchange waits for its client or for its worker now. Data that is sent as
     * soon as it arrives, as events of a stream are, does not add up to a slow client, and data
     * that trickles does not hide one.
     *
     * @param max maximum of the result
     * @return how much more often it was found waiting for its client; at least 0
     */
    public int observe(int max) {
        heldUp = isHeldUp() ? Math.min(heldUp + 1, max) : Math.max(heldUp - 1, 0);
        if (heldUp == 0 && !awaitsBody()) {
            releaseUnlessPreempted();
        }
        return heldUp;
    }

    /** Returns whether {@link #observe} found it waiting for its client more often than not. */
    public boolean wasHeldUp() {
        return heldUp > 0;
    }

    private boolean isHeldUp() {
        return untakenBytes > 0 || awaitsBody() && !fillsWindow();
    }

    /** An answered gRPC call and a tunnel may stay open without a byte from the client. */
    private boolean awaitsBody() {
        return !body.isEnded() && (state == State.SENT || state == State.RESPONDING && !Grpc.isCall(head));
    }

    /**
     * Returns whether so much of the request's body waits for the worker that the client may have
     * to wait.
     */
    public boolean fillsWindow() {
        return body.fillsWindow();
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

    /** Returns the policy of the request's route, or of its function if the route has none. */
    public TrafficPolicy policy() {
        return policy;
    }

    /** Returns a key that is equal for all requests of one client. */
    Object client() {
        return response.client(head);
    }

    /** Holds a place until the end. */
    void enter(RequestAdmission.Place entered) {
        place = entered;
    }

    /** Returns the priority; {@code null} if the policy has no priorities. */
    public @Nullable Priority priority() {
        AdmissionPolicy admission = policy.admission();
        if (priority == null && admission.hasPriorities()) {
            priority = RequestAdmission.priorityOf(head, admission);
        }
        return priority;
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
            case SENT, RESPONDING -> {
                if (attempts.isCrossing()) {
                    body.hold(data);
                } else {
                    body.keep(data, mayBeRepeated());
                    attempts.sink().data(data, end);
                }
            }
            case TUNNEL, WORKER_ENDED -> {
                attempts.sink().data(data, end);
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

    private void endRequest() {
        body.onEnd();
        if (timer != null) {
            timer.onRequestEnd(owner.nanoTime());
            if (state == State.SENT) {
                attempts.setTimer();
            }
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
            case SENT, RESPONDING -> {
                if (attempts.isCrossing()) {
                    body.hold(trailers);
                } else {
                    body.keep(trailers, mayBeRepeated());
                    attempts.sink().trailers(trailers);
                }
            }
            case TUNNEL, WORKER_ENDED -> {
                attempts.sink().trailers(trailers);
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
            attempts.cancel(code);
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
        RequestSink last = attempts.lastSink();
        if (last == null) {
            return;
        }
        // Bytes that the client has not read still count in the memory of a direct call.
        if (state == State.ENDED) {
            last.endedResponseTaken(bytes);
        } else {
            last.responseTaken(bytes);
        }
    }

    @Override
    public long heldBytes() {
        RequestSink last = attempts.lastSink();
        return headBytes() + body.heldBytes() + (last == null ? 0 : last.heldBytes());
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
        return headBytes() + body.bytes() + body.trailerBytes();
    }

    private int headBytes() {
        if (headBytes == 0) {
            headBytes = Replay.bytesOf(head);
        }
        return headBytes;
    }

    /** Returns whether the client has sent the complete request. */
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

    /**
     * Returns whether sending the request twice has the effect of sending it once: its method is
     * idempotent (RFC 9110 section 9.2.2), or the client has given it a key by which the handler
     * recognizes it.
     */
    public boolean isIdempotent() {
        return Methods.isIdempotent(head.method()) || head.contains(IDEMPOTENCY_KEY);
    }

    /**
     * Returns whether the two directions of the exchange end separately if the response's status is
     * 2xx (RFC 9110 section 9.3.6, RFC 8441 section 4).
     */
    public static boolean isTunnel(Http2Headers requestHead) {
        return Methods.isConnect(requestHead.method());
    }

    Http2Headers headers() {
        return head;
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

    /** @param sent the request's headers as this worker received them */
    void onHead(Http2Headers sent, Http2Headers responseHead, int status, boolean end, long nowNanos) {
        head = sent;
        state = State.RESPONDING;
        body.forget();
        answered = true;
        tunnelRequested = tunnelRequested && TunnelHead.opens(responseHead);
        report.onHead(status, nowNanos - startNanos, tunnelRequested);
        String workerId = attempts.workerId();
        if (session != null && workerId != null) {
            session.mark(responseHead, workerId);
        }
        if (tunnelRequested) {
            openTunnel();
        } else if (heldFrom != null && Grpc.isCall(head)) {
            releaseUnlessPreempted();
        }
        response.onHead(responseHead, end);
        endIf(end);
    }

    private void openTunnel() {
        state = body.isEnded() ? State.CLIENT_ENDED : State.TUNNEL;
        release();
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
            if (state != State.WAITING) {
                attempts.onSeen();
            }
            attempts.cancel(late ? ErrorCode.TIMEOUT : ErrorCode.CANCELLED);
            endFailed(failure);
        }
    }

    /** Ends the exchange. No try is under way any more. */
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
        if (place != null) {
            place.leave();
            place = null;
        }
        body.release();
        owner.onEnded(this, outcome, failure);
    }

    private void cancelTimer() {
        if (timer != null) {
            owner.timers().cancel(timer);
        }
    }

    public boolean isEnded() {
        return state == State.ENDED;
    }

    /**
     * Returns the time for which the exchange has had its worker stream, at the end. After a retry,
     * only the last stream counts.
     */
    public long serviceNanos() {
        return attempts.serviceNanos();
    }

    // For the observer.

    /** Tells the observer that the exchange has started. {@link #report} must follow at the end. */
    public void announceTo(DispatcherObserver observer) {
        report.announceTo(observer, head, response);
    }

    /**
     * Tells the observer that the exchange has ended, if it returned a listener at the start.
     */
    public void report(Outcome outcome, @Nullable Failure failure) {
        if (report.isFollowed()) {
            long endNanos = owner.nanoTime() - startNanos;
            attempts.report();
            report.onRequest(head, body.bytes(), session == null ? null : session.result());
            report.onTimes(attempts.count() == 0 ? endNanos : attempts.firstNanos() - startNanos, endNanos);
            report.onEnd(outcome, failure, response);
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
        CharSequence path = head.path();
        int query = AsciiString.indexOf(path, '?', 0);
        return new RequestSnapshot(
                owner.function(),
                now,
                state == State.WAITING ? null : attempts.workerId(),
                start(head.method(), head.method().length()),
                start(path, query < 0 ? path.length() : query),
                response.remoteAddress(),
                response.protocol(),
                owner.nanoTime() - startNanos,
                attempts.count(),
                body.bytes(),
                report.responseBytes(),
                untakenBytes);
    }

    private static String start(CharSequence text, int end) {
        String all = HeaderText.decode(text.subSequence(0, end));
        return all.substring(0, Math.min(all.length(), SNAPSHOT_CHARACTERS));
    }
}
