package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.loop.FairQueue;
import io.lambdadispatcher.core.internal.policy.ClientSession;
import io.lambdadispatcher.core.internal.policy.DeadlineHeaders;
import io.lambdadispatcher.core.internal.policy.DeadlineRule;
import io.lambdadispatcher.core.internal.policy.RetryRule;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.RequestSnapshot;
import io.lambdadispatcher.core.observe.RetryDenial;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.AttemptPolicy;
import io.lambdadispatcher.core.options.Priority;
import io.lambdadispatcher.core.options.RetryCondition;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.Grpc;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.http.TunnelHead;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A request on its way to a worker stream, and its response on the way back. It waits for a stream,
 * holds the part of the body that arrives until then (bounded by the client's window), and decides
 * whether a failed attempt is repeated. Confined to the client's event loop.
 */
public final class Exchange extends DeadlineQueue.Entry implements RequestSink, RemoteAttempt {

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

    /** Maximum part of a sent body that is kept for another attempt. */
    private static final int MAX_SENT_BYTES = 512 * 1024;

    /**
     * Unsent bytes of a body with which its client may have to wait: half of the smallest window,
     * because HTTP/1.1 connections continue to read when half of the window is free.
     */
    private static final int FULL_BYTES = 32 * 1024 - 1;

    /** What is reported of an attempt that was given up for another. */
    private static final String ATTEMPT_TIMEOUT = "attempt_timeout";

    /** What is reported of an attempt if the other one answered first. */
    private static final String LOST_RACE = "slower";

    /** With this header, a client says that its request can be repeated. */
    private static final AsciiString IDEMPOTENCY_KEY = AsciiString.cached("idempotency-key");

    /** Memory of the objects of a header, without its characters. */
    private static final int FIELD_BYTES = 96;

    /** Clients can send paths of 64 KiB, and a snapshot may list many requests. */
    private static final int SNAPSHOT_CHARACTERS = 512;

    private final ExchangeOwner owner;
    private final ExchangeReport report;

    // begin() sets all fields that follow.

    private Http2Headers head;
    private boolean bodyless;

    /** Looked up once, because the headers have left the processor's cache when it is asked for. */
    private boolean tunnelRequested;

    private ResponseSink response;
    private TrafficPolicy policy;
    private long startNanos;

    private State state;
    private int attempts;
    private boolean bodyForwarded;

    // Kept after the end, because bytes that the client has not read still count in the memory of a
    // direct call.
    private @Nullable RequestSink carrier;
    private @Nullable Carrier lastCarrier;

    /** Workers of attempts that have failed or are given up. The next attempt avoids them. */
    private List<String> triedWorkers;

    /** {@code null} if the policy needs none, or none is needed for this request. */
    private @Nullable ExchangeTimer timer;

    /** Whether the deadline, and no other timeout, limits the current attempt. */
    private boolean limitedByDeadline;

    /** A second attempt beside that of {@link #carrier}. */
    private @Nullable Hedge hedge;

    /** Whether the handler of an earlier attempt may have begun. */
    private boolean seen;

    private long carriedNanos;
    private long lastAttemptNanos;

    /** When the request was complete, if its policy is timed. */
    private long requestEndNanos;

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
    private long untakenBytes;

    /** Memory of the headers, in bytes; 0 if not calculated yet. */
    private int headBytes;

    public Exchange(
            ExchangeOwner owner, Http2Headers head, boolean bodyless, ResponseSink response, TrafficPolicy policy) {
        this.owner = owner;
        report = new ExchangeReport(owner.function());
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
        ended.begin(head, bodyless, response, policy);
        return ended;
    }

    private void begin(Http2Headers requestHead, boolean withoutBody, ResponseSink sink, TrafficPolicy applied) {
        head = requestHead;
        bodyless = withoutBody;
        tunnelRequested = isTunnel(requestHead);
        response = sink;
        policy = applied;
        startNanos = owner.nanoTime();
        requestEndNanos = startNanos;
        state = State.WAITING;
        attempts = 0;
        bodyForwarded = false;
        carrier = null;
        lastCarrier = null;
        triedWorkers = List.of();
        limitedByDeadline = false;
        hedge = null;
        seen = false;
        carriedNanos = 0;
        lastAttemptNanos = 0;
        answered = false;
        ticket = null;
        share = null;
        session = null;
        heldFrom = null;
        heldUp = 0;
        place = null;
        priority = null;
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
        untakenBytes = 0;
        headBytes = 0;
        timer = applied.isTimed() ? newTimer() : null;
    }

    private @Nullable ExchangeTimer newTimer() {
        long budget = DeadlineHeaders.budgetNanos(policy.deadline(), head);
        return budget == ExchangeTimer.NEVER && !policy.attempts().isTimed() ? null : new ExchangeTimer(this, budget);
    }

    /**
     * Starts the deadline of a new request.
     *
     * @return false if the client no longer waits, and the exchange has failed
     */
    public boolean startDeadline() {
        ExchangeTimer own = timer;
        if (own != null && own.hasDeadline()) {
            if (own.deadline <= 0) {
                failLate();
                return false;
            }
            setTimer(own);
        }
        return true;
    }

    private void setTimer(ExchangeTimer own) {
        long next = own.next();
        if (next != ExchangeTimer.NEVER) {
            owner.timers().set(own, startNanos + next);
        }
    }

    /** A time of the policy has come. */
    void onTimer(long nowNanos) {
        ExchangeTimer own = timer;
        if (own == null || state == State.ENDED) {
            return;
        }
        switch (own.poll(nowNanos - startNanos)) {
            case DEADLINE -> failLate();
            case ATTEMPT_TIMEOUT -> onAttemptTimeout();
            case HEDGE -> startHedge(nowNanos);
            case NONE -> {}
        }
        // Each of these can end the exchange, whose object may then serve another request.
        if (timer == own && !isEnded()) {
            setTimer(own);
        }
    }

    private void failLate() {
        fail(lateFailure());
    }

    private Failure lateFailure() {
        ExchangeTimer own = timer;
        long millis = own == null ? 0 : TimeUnit.NANOSECONDS.toMillis(own.deadline);
        return new Failure(
                Failure.Kind.DEADLINE_EXCEEDED,
                (state == State.WAITING ? "no worker free" : "no complete response") + " within the deadline of "
                        + millis + " ms");
    }

    /**
     * Fails a queued request that would probably not be served before its deadline.
     *
     * @return whether it has failed
     */
    public boolean failIfHopeless(long nowNanos) {
        ExchangeTimer own = timer;
        FairQueue.Ticket<Exchange> place = ticket;
        if (own == null || !own.hasDeadline() || place == null) {
            return false;
        }
        long left = own.deadline - (nowNanos - startNanos);
        if (!DeadlineRule.isHopeless(left, nowNanos - place.sinceNanos(), owner.responseTimeNanos(0.95))) {
            return false;
        }
        failLate();
        return true;
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
        // If the stream has failed immediately, another one may carry the request by now.
        if (lastCarrier == stream && state != State.WAITING) {
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
            if (timer != null && state == State.CARRIED) {
                // An attempt timeout that came while it crossed over is due now.
                startAttemptTimer();
            }
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
        if (timer != null) {
            timer.onNoAttempt();
        }
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
            if (policy.isFiltered()) {
                response.onSent();
            }
        }
        if (timer != null) {
            startAttemptTimer();
            writeDeadline(timer, head);
        }
        report.onAttempt(attempts, head);
        return carriedNanos;
    }

    private void startAttemptTimer() {
        ExchangeTimer own = timer;
        AttemptPolicy rule = policy.attempts();
        if (own == null
                || attempts >= rule.maxAttempts()
                || !rule.isTimed()
                || !requestEnded
                || !isIdempotent()
                || lastCarrier == null
                || !lastCarrier.isOfWorker()) {
            return;
        }
        long elapsed = awaitedNanos() - startNanos;
        long timeout = rule.retryOn().contains(RetryCondition.TIMEOUT)
                ? after(elapsed, rule.attemptTimeout().toNanos())
                : ExchangeTimer.NEVER;
        long delay = rule.hedgeAfterQuantile() > 0
                ? owner.responseTimeNanos(rule.hedgeAfterQuantile())
                : rule.hedgeAfter().toNanos();
        own.onAttempt(timeout, tunnelRequested ? ExchangeTimer.NEVER : after(elapsed, delay));
        setTimer(own);
    }

    /** Returns since when the handler could respond: a client may take long to send the body. */
    private long awaitedNanos() {
        return requestEndNanos - lastAttemptNanos > 0 ? requestEndNanos : lastAttemptNanos;
    }

    /** @param nanos 0 = never */
    private static long after(long elapsedNanos, long nanos) {
        return nanos == 0 ? ExchangeTimer.NEVER : elapsedNanos + nanos;
    }

    /** Tells the handler how long the client still waits, in the client's own headers. */
    private void writeDeadline(ExchangeTimer own, Http2Headers headers) {
        if (own.hasDeadline()) {
            long left = own.deadline - (lastAttemptNanos - startNanos);
            DeadlineHeaders.writeLeft(policy.deadline(), headers, Math.max(1, left));
        }
    }

    /** Returns the workers that the next attempt avoids if possible. */
    public List<String> triedWorkers() {
        return triedWorkers;
    }

    /** Allows all workers again, because there is no other. */
    public void avoidNoWorker() {
        triedWorkers = List.of();
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
        return !requestEnded && (state == State.CARRIED || state == State.RESPONDING && !Grpc.isCall(head));
    }

    /**
     * Returns whether so much of the request's body waits for the worker that the client may have
     * to wait.
     */
    public boolean fillsWindow() {
        return requestBytes - takenRequestBytes >= FULL_BYTES;
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

    /** Returns the time that the worker has for the current attempt; 0 = no limit. */
    private int timeoutMillis() {
        return timeoutMillis(lastAttemptNanos);
    }

    private int timeoutMillis(long attemptNanos) {
        long limitNanos = owner.requestTimeoutNanos();
        long leftNanos = limitNanos == 0 ? Long.MAX_VALUE : limitNanos - (attemptNanos - carriedNanos);
        if (timer != null && timer.hasDeadline()) {
            long untilDeadline = timer.deadline - (attemptNanos - startNanos);
            limitedByDeadline = untilDeadline < leftNanos;
            leftNanos = Math.min(leftNanos, untilDeadline);
        }
        return leftNanos == Long.MAX_VALUE
                ? 0
                : (int) Math.max(1, Math.min(Integer.MAX_VALUE, TimeUnit.NANOSECONDS.toMillis(leftNanos)));
    }

    private void forwardEarly(RequestSink sink) {
        EarlyBody held = earlyData;
        Http2Headers trailers = earlyTrailers;
        earlyData = null;
        if (held != null) {
            // All parts are kept before one is sent: if that fails, the next attempt begins inside
            // the call.
            held.forEach(this::keepSent);
            for (ByteBuf data = held.poll(); data != null; data = held.poll()) {
                if (isCarriedBy(sink)) {
                    sink.data(data, held.isEmpty() && requestEnded && trailers == null);
                } else {
                    data.release();
                }
            }
        }
        if (trailers != null && isCarriedBy(sink)) {
            keepSent(Unpooled.EMPTY_BUFFER);
            sink.trailers(trailers);
        }
    }

    private boolean isCarriedBy(RequestSink sink) {
        return carrier == sink && state != State.ENDED;
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
            try {
                sentBody.add(data.retainedDuplicate());
            } catch (RuntimeException | Error e) {
                // There is no memory. The request is sent, but only once.
                dropSent();
            }
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

    /** Returns whether the last attempt, if there was one, was a direct call. */
    public boolean wasSentDirectly() {
        return lastCarrier != null && !lastCarrier.isOfWorker();
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
        report.onTiming(-1, -1);
        if (timer != null) {
            timer.onNoAttempt();
        }
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
        if (end) {
            endRequest();
        }
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

    private void endRequest() {
        requestEnded = true;
        if (timer != null) {
            requestEndNanos = owner.nanoTime();
            if (state == State.CARRIED) {
                startAttemptTimer();
            }
        }
    }

    @Override
    public void trailers(Http2Headers trailers) {
        endRequest();
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
            cancelAttempts(code);
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
        if (carrier == null) {
            return;
        }
        if (state == State.ENDED) {
            carrier.endedResponseTaken(bytes);
        } else {
            carrier.responseTaken(bytes);
        }
    }

    /**
     * The client's window counts early data, except what the worker of a failed attempt has taken.
     */
    @Override
    public long heldBytes() {
        return headBytes()
                + earlyTrailersBytes()
                + (earlyData == null ? 0 : earlyData.overheadBytes() + takenRequestBytes)
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
            boolean late = failure.kind() == Failure.Kind.TIMEOUT || failure.kind() == Failure.Kind.DEADLINE_EXCEEDED;
            seen |= state != State.WAITING;
            cancelAttempts(late ? ErrorCode.TIMEOUT : ErrorCode.CANCELLED);
            endFailed(failure);
        }
    }

    /** Ends the exchange. The carrier no longer refers to it, or has been told to cancel it. */
    private void endFailed(Failure failure) {
        if (state != State.ENDED) {
            Failure told = seen && failure.wasNotTried() ? failure.afterAttempt() : failure;
            end(Outcome.FAILED, told);
            response.onFailure(told);
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
            int code = StatusCode.parse(responseHead.status());
            RetryCondition condition = RetryRule.ofStatus(code);
            if (condition != null && isAnswerRefused(condition)) {
                return;
            }
            state = State.RESPONDING;
            dropSent();
            answered = true;
            long now = owner.nanoTime();
            tunnelRequested = tunnelRequested && TunnelHead.opens(responseHead);
            report.onHead(code, now - startNanos, tunnelRequested);
            if (timer != null) {
                onAnswered(timer, now);
            }
            if (session != null) {
                markWorker(session, responseHead);
            }
            if (tunnelRequested) {
                state = requestEnded ? State.CLIENT_ENDED : State.TUNNEL;
                release();
                cancelTimer();
                owner.onTunnelOpened(this);
            } else if (heldFrom != null && Grpc.isCall(head)) {
                releaseUnlessPreempted();
            }
            response.onHead(responseHead, end);
            endIf(end);
        }
    }

    private void markWorker(ClientSession itsSession, Http2Headers responseHead) {
        String workerId = workerId();
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
            report.onData(data.readableBytes());
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

    @Override
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

    /** A response has begun. What it is faster than no longer matters. */
    private void onAnswered(ExchangeTimer own, long nowNanos) {
        own.onNoAttempt();
        if (requestEnded) {
            owner.onResponseTime(nowNanos - awaitedNanos());
        }
        Hedge other = hedge;
        if (other != null) {
            hedge = null;
            report.onHedgeFailed(other, LOST_RACE);
            other.drop();
        }
    }

    @Override
    public void onFailure(Failure failure) {
        boolean late = failure.kind() == Failure.Kind.TIMEOUT && limitedByDeadline;
        if (late || !continueWithHedge(failure.kind().token()) && !isFailureRetried(failure)) {
            dropHedge();
            endFailed(late ? lateFailure() : failure);
        }
    }

    @Override
    public void onTiming(long waitMicros, long micros) {
        report.onTiming(waitMicros, micros);
    }

    @Override
    public void onRefused(Failure failure) {
        if (wasSentDirectly()) {
            report.onAttemptFailed(null, failure.kind().token());
            onBusy(failure);
            return;
        }
        retryOrFail(failure, RetryCondition.REFUSED, ExtraAttempt.REFUSED);
    }

    @Override
    public void onLost(Failure failure) {
        retryOrFail(failure, RetryCondition.LOST, ExtraAttempt.LOST);
    }

    @Override
    public void onBusy(Failure failure) {
        if (continueWithHedge(failure.kind().token())) {
            return;
        }
        if (isRepeatable()) {
            waitAgain();
            attempts--;
            if (owner.requeue(this)) {
                return;
            }
            attempts++;
        }
        endFailed(failure);
    }

    // Further attempts. Each of these decides what follows an attempt that did not succeed.

    private void retryOrFail(Failure failure, RetryCondition condition, ExtraAttempt reason) {
        String token = failure.kind().token();
        if (!continueWithHedge(token) && !sendAgain(condition, reason, token, null)) {
            endFailed(failure);
        }
    }

    /**
     * The handler has answered with a status after which the policy may want another attempt.
     *
     * @return whether the client gets another answer
     */
    private boolean isAnswerRefused(RetryCondition condition) {
        if (!policy.attempts().retryOn().contains(condition) || lastCarrier == null || !lastCarrier.isOfWorker()) {
            return false;
        }
        if (hedge != null) {
            cancelCarrier(ErrorCode.CANCELLED);
            giveUp(lastCarrier);
            return continueWithHedge(condition.token());
        }
        return sendAgain(condition, ExtraAttempt.STATUS, condition.token(), ErrorCode.CANCELLED);
    }

    /** The handler has failed, of which the client would learn as 500. */
    private boolean isFailureRetried(Failure failure) {
        Carrier failed = lastCarrier;
        boolean ofHandler =
                failure.kind() == Failure.Kind.HANDLER_FAILED || failure.kind() == Failure.Kind.HANDLER_CANCELLED;
        boolean wanted = ofHandler
                && policy.attempts().retryOn().contains(RetryCondition.STATUS_500)
                && state == State.CARRIED
                && failed != null
                && failed.isOfWorker();
        if (!wanted
                || !sendAgain(
                        RetryCondition.STATUS_500,
                        ExtraAttempt.STATUS,
                        failure.kind().token(),
                        null)) {
            return false;
        }
        giveUp(failed);
        return true;
    }

    private void onAttemptTimeout() {
        // While it crosses over, there is nothing to cancel yet. The timer starts again on arrival.
        if (state != State.CARRIED) {
            return;
        }
        owner.onResponseTime(owner.nanoTime() - awaitedNanos());
        if (hedge != null) {
            cancelCarrier(ErrorCode.TIMEOUT);
            giveUp(lastCarrier);
            continueWithHedge(ATTEMPT_TIMEOUT);
        } else {
            sendAgain(RetryCondition.TIMEOUT, ExtraAttempt.TIMEOUT, ATTEMPT_TIMEOUT, ErrorCode.TIMEOUT);
        }
    }

    /**
     * Sends the request again, if its policy, its state and the budget allow it.
     *
     * @param token what has happened to this attempt
     * @param cancelled cancels this attempt, which continues; {@code null} = it has ended
     * @return false if this attempt is the last one
     */
    private boolean sendAgain(
            RetryCondition condition, ExtraAttempt reason, String token, @Nullable ErrorCode cancelled) {
        RetryDenial denied = RetryRule.denial(policy.attempts(), condition, attempts, isIdempotent(), isRepeatable());
        if (denied == null) {
            denied = owner.takeExtraAttempt(reason);
        }
        if (denied != null) {
            report.onDenied(denied);
            return false;
        }
        if (cancelled != null) {
            cancelCarrier(cancelled);
            giveUp(lastCarrier);
            // The event loop of a cancelled attempt may still read these.
            head = copyOf(head);
        }
        String workerId = workerId();
        addTried(workerId);
        seen |= condition != RetryCondition.REFUSED;
        waitAgain();
        // The time of this attempt is no time in the queue.
        ticket = owner.newTicket(this);
        report.onRepeated(workerId, token, reason);
        owner.retry(this);
        return true;
    }

    private static void giveUp(@Nullable Carrier carrier) {
        if (carrier != null) {
            carrier.onGivenUp();
        }
    }

    private void addTried(@Nullable String workerId) {
        if (workerId != null && !triedWorkers.contains(workerId)) {
            List<String> more = new ArrayList<>(triedWorkers);
            more.add(workerId);
            triedWorkers = List.copyOf(more);
        }
    }

    private static Http2Headers copyOf(Http2Headers head) {
        return new FlatHeaders().add(head);
    }

    private void startHedge(long nowNanos) {
        if (state != State.CARRIED || hedge != null || session != null && session.namesWorker()) {
            return;
        }
        RetryDenial denied = RetryRule.denialOfHedge(policy.attempts(), attempts, isIdempotent(), isRepeatable());
        if (denied == null) {
            Http2Headers headers = copyOf(head);
            EarlyBody body = sentBody == null ? null : sentBody.copy();
            Hedge second =
                    new Hedge(this, attempts + 1, headers, body, earlyTrailers, timeoutMillis(nowNanos), nowNanos);
            List<String> before = triedWorkers;
            addTried(workerId());
            denied = owner.start(second, triedWorkers);
            if (denied != null) {
                triedWorkers = before;
                second.release();
            }
        }
        if (denied != null) {
            report.onDenied(denied);
        }
    }

    /** A worker stream is about to carry the hedge. */
    void onHedgeStarted(Hedge second) {
        hedge = second;
        seen = true;
        attempts++;
        if (timer != null && timer.hasDeadline()) {
            DeadlineHeaders.writeLeft(
                    policy.deadline(), second.head(), Math.max(1, timer.deadline - (second.startNanos() - startNanos)));
        }
        report.onHedge(second);
    }

    /**
     * The hedge has a response before the other attempt.
     *
     * @return false if it is no better than none, so that the other attempt is the only one
     */
    boolean onHedgeAnswered(Hedge second, Http2Headers responseHead) {
        RetryCondition condition = RetryRule.ofStatus(StatusCode.parse(responseHead.status()));
        if (condition != null && policy.attempts().retryOn().contains(condition)) {
            hedge = null;
            addTried(second.workerId());
            giveUp(second.carrier());
            report.onHedgeFailed(second, condition.token());
            return false;
        }
        // The slow attempt counts, too: otherwise, times would seem shorter with each hedge.
        owner.onResponseTime(owner.nanoTime() - awaitedNanos());
        cancelCarrier(ErrorCode.CANCELLED);
        giveUp(lastCarrier);
        continueWithHedge(LOST_RACE);
        return true;
    }

    /**
     * The hedge has failed. The other attempt continues.
     *
     * @param unseen whether no handler has seen the hedge, so that it counts as no attempt
     */
    void onHedgeLost(Hedge second, Failure failure, boolean unseen) {
        if (hedge == second) {
            hedge = null;
            attempts -= unseen ? 1 : 0;
            addTried(second.workerId());
            report.onHedgeFailed(second, failure.kind().token());
        }
    }

    /**
     * Makes the hedge the only attempt. The other one has ended or is cancelled.
     *
     * @param token what has happened to the other one
     * @return false if there is no hedge
     */
    private boolean continueWithHedge(String token) {
        Hedge second = hedge;
        if (second == null) {
            return false;
        }
        hedge = null;
        report.onAdopted(second, workerId(), token);
        addTried(second.workerId());
        head = second.head();
        lastCarrier = second.carrier();
        lastAttemptNanos = second.startNanos();
        // The time of the other attempt is no time in the queue.
        ticket = owner.newTicket(this);
        attemptTakenBytes = 0;
        shared = true;
        carrier = second.adopt();
        if (timer != null) {
            timer.onNoAttempt();
        }
        startAttemptTimer();
        // Last, because the client can cancel the request within this call.
        onRequestTaken(second.takenBytes());
        return true;
    }

    private void dropHedge() {
        Hedge second = hedge;
        if (second != null) {
            hedge = null;
            second.drop();
        }
    }

    private void cancelAttempts(ErrorCode code) {
        cancelCarrier(code);
        dropHedge();
    }

    @Override
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

    /** Returns whether the complete request has arrived and its body has at most this size. */
    public boolean isHeldWhole(int maxBodyBytes) {
        return requestBytes <= maxBodyBytes && requestEnded;
    }

    /**
     * Returns whether sending the request twice has the effect of sending it once: its method is
     * idempotent (RFC 9110 section 9.2.2), or the client has given it a key by which the handler
     * recognizes it.
     */
    public boolean isIdempotent() {
        return Methods.isIdempotent(head.method()) || head.contains(IDEMPOTENCY_KEY);
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

    private void cancelTimer() {
        if (timer != null) {
            owner.timers().cancel(timer);
        }
    }

    private void end(Outcome outcome, @Nullable Failure failure) {
        state = State.ENDED;
        cancelTimer();
        dropHedge();
        if (place != null) {
            place.leave();
            place = null;
        }
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

    /** Returns whether the client has got the response's headers. */
    public boolean isAnswered() {
        return answered;
    }

    Http2Headers headers() {
        return head;
    }

    private @Nullable String workerId() {
        return lastCarrier == null ? null : lastCarrier.workerId();
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
            report.onLastAttempt(attempts, workerId());
            report.onRequest(head, requestBytes, session == null ? null : session.result());
            report.onTimes(attempts == 0 ? endNanos : carriedNanos - startNanos, endNanos);
            report.onEnd(outcome, failure, response);
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
                state == State.WAITING ? null : workerId(),
                start(head.method(), head.method().length()),
                start(path, query < 0 ? path.length() : query),
                response.remoteAddress(),
                response.protocol(),
                owner.nanoTime() - startNanos,
                attempts,
                requestBytes,
                report.responseBytes(),
                untakenBytes);
    }

    private static String start(CharSequence text, int end) {
        String all = HeaderText.decode(text.subSequence(0, end));
        return all.substring(0, Math.min(all.length(), SNAPSHOT_CHARACTERS));
    }
}
