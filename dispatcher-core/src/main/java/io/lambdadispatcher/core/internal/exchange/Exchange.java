package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.loop.FairQueue;
import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.wire.http.Grpc;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.net.SocketAddress;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One request on its way to a worker stream, and its response on the way back. It waits for a
 * stream, holds what of the body arrives until then (the client's window bounds it), and decides
 * whether a failed attempt is made again. Confined to the client's event loop.
 */
public final class Exchange extends DeadlineQueue.Entry implements RequestSink, Attempt, ExchangeStart {

    private enum State {
        /** No worker stream has it. */
        WAITING,
        /**
         * It is on its way to a worker stream of another event loop, which may be gone when it
         * arrives; the body stays here.
         */
        CROSSING,
        /** A worker stream carries it; nothing of the final response has been passed on. */
        CARRIED,
        /** The client has the response head: there is no way back. */
        RESPONDING,
        /** A tunnel is open: no timeout applies any more, and its two directions end apart. */
        TUNNEL,
        /** The client has ended its direction of a tunnel, the worker has not. */
        CLIENT_ENDED,
        /** The worker has ended its direction of a tunnel, the client has not. */
        WORKER_ENDED,
        ENDED
    }

    /** Sent once, and once more: to another worker, or to the same one if no other is free. */
    private static final int MAX_ATTEMPTS = 2;

    /** The objects of a header, besides its characters. */
    private static final int FIELD_BYTES = 96;

    private final ExchangeOwner owner;
    private final Http2Headers head;
    private final boolean bodyless;
    private final ResponseSink response;
    private final long startNanos;

    private @Nullable Consumer<ExchangeEnd> endListener;

    private State state = State.WAITING;
    private int attempts;
    private boolean bodyForwarded;

    // Stays after the end, for what the client takes then still counts in the worker's window.
    private @Nullable RequestSink carrier;
    private @Nullable Carrier lastCarrier;
    private @Nullable String failedWorker;
    private long carriedNanos;
    private long lastAttemptNanos;

    /** {@code null} if it has never had to wait. */
    private FairQueue.@Nullable Ticket<Exchange> ticket;

    private @Nullable ClientShare share;

    /** From which the request holds a place until its body ends. */
    private @Nullable ClientShare heldFrom;

    // What came before a worker stream was there.
    private @Nullable EarlyBody earlyData;
    private @Nullable Http2Headers earlyTrailers;

    private boolean requestEnded;
    private boolean arrived;

    private long requestBytes;
    private long responseBytes;
    private long untakenBytes;
    private int status;

    /** What the head takes of the heap; 0 if nobody has asked yet. */
    private int headBytes;

    public Exchange(ExchangeOwner owner, Http2Headers head, boolean bodyless, ResponseSink response) {
        this.owner = owner;
        this.head = head;
        this.bodyless = bodyless;
        this.response = response;
        this.requestEnded = bodyless;
        startNanos = owner.nanoTime();
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
     * Sends the head to a worker stream of another event loop; {@link #onArrived} or {@link
     * #onStranded} follows.
     */
    public void crossOver(Carrier crossing) {
        assert state == State.CARRIED : state;
        state = State.CROSSING;
        crossing.carry(head, bodyless, timeoutMillis(), this);
    }

    /** A worker stream has the head. */
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
     * There was no worker stream after all.
     *
     * @return false if it has ended meanwhile, else it waits as if nothing had been
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
     * The next attempt begins: {@link #carryOn} or {@link #crossOver} follows.
     *
     * @return when the first attempt began, by the event loop's clock, which is asked as rarely as
     *     can be
     */
    public long onCarrierFound(Carrier found) {
        assert state == State.WAITING : state;
        state = State.CARRIED;
        lastCarrier = found;
        lastAttemptNanos = ticket != null || attempts > 0 ? owner.nanoTime() : startNanos;
        if (attempts++ == 0) {
            carriedNanos = lastAttemptNanos;
        }
        return carriedNanos;
    }

    /**
     * The worker of an attempt that failed, which the next attempt avoids if there is another;
     * {@code null} before the first.
     */
    public @Nullable String failedWorker() {
        return failedWorker;
    }

    /** There is no other. */
    public void avoidNoWorker() {
        failedWorker = null;
    }

    /**
     * The place in the queue that it has, or had the last time it waited; {@code null} if it has
     * never had to wait.
     */
    public FairQueue.@Nullable Ticket<Exchange> ticket() {
        return ticket;
    }

    /** It waits with this ticket. */
    public void onWaiting(FairQueue.Ticket<Exchange> place) {
        ticket = place;
    }

    /** Returns what its client has of the function. {@link #releaseShare} is due at the end. */
    public ClientShare share(ClientShares shares) {
        ClientShare own = share;
        if (own == null) {
            own = shares.acquire(response.client(head));
            share = own;
        }
        return own;
    }

    /**
     * Holds a place until {@link #release}.
     *
     * @return false if {@code limit} places are held from the share
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
     * Its request has ended, or may stay open: a slow reader's holds its place until the response
     * ends.
     */
    public void releaseUnlessSlow() {
        if (heldFrom != null && (share == null || !share.isSlow(owner.nanoTime()))) {
            release();
        }
    }

    /** Returns true once: it has arrived, as far as the demand for workers goes. */
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

    /** At the end. Harmless if {@link #share} was not called. */
    public void releaseShare(ClientShares shares) {
        if (share != null) {
            shares.release(share);
            share = null;
        }
    }

    /** When it came, by the event loop's clock. */
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
            bodyForwarded = true;
            for (ByteBuf data = held.poll(); data != null; data = held.poll()) {
                sink.data(data, held.isEmpty() && requestEnded && earlyTrailers == null);
            }
        }
        if (earlyTrailers != null && state != State.ENDED) {
            bodyForwarded = true;
            sink.trailers(earlyTrailers);
        }
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
                bodyForwarded = true;
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
                bodyForwarded = true;
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

    /** Of an open tunnel; what the worker does of it is another matter. */
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
            // A worker that has ended its direction of a tunnel has said all it had to say.
            Outcome outcome = state == State.WORKER_ENDED ? Outcome.COMPLETED : Outcome.CANCELLED;
            cancelCarrier(code);
            end(outcome, null);
        }
    }

    @Override
    public void responseTaken(int bytes) {
        untakenBytes -= bytes;
        if (carrier != null) {
            carrier.responseTaken(bytes);
        }
    }

    @Override
    public long heldBytes() {
        return headBytes()
                + earlyTrailersBytes()
                + (earlyData == null ? 0 : earlyData.overheadBytes())
                + (carrier == null ? 0 : carrier.heldBytes());
    }

    /**
     * Returns what the request takes while it waits, in bytes: its head, and what has arrived of
     * its body and trailers.
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

    /** Answers the client ourselves, or cuts the response off. Harmless after the end. */
    public void fail(Failure failure) {
        if (state != State.ENDED) {
            cancelCarrier(failure.kind() == Failure.Kind.TIMEOUT ? ErrorCode.TIMEOUT : ErrorCode.CANCELLED);
            endFailed(failure);
        }
    }

    /** The carrier has forgotten the exchange, or been told to. */
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
    public void onHead(Http2Headers responseHead, boolean end) {
        if (state == State.CARRIED) {
            state = State.RESPONDING;
            status = StatusCode.parse(responseHead.status());
            if (isTunnel(head) && StatusCode.isSuccess(status)) {
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

    /**
     * The two directions of such an exchange end apart if the response's status is 2xx (RFC 9110
     * section 9.3.6, RFC 8441 section 4).
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

    @Override
    public void onRequestTaken(int bytes) {
        response.onRequestTaken(bytes);
    }

    @Override
    public void onFailure(Failure failure) {
        endFailed(failure);
    }

    @Override
    public void onRefused(Failure failure) {
        retryOrFail(failure, true);
    }

    @Override
    public void onLost(Failure failure) {
        retryOrFail(failure, isIdempotent());
    }

    private void retryOrFail(Failure failure, boolean harmless) {
        if (state == State.CARRIED && harmless && !bodyForwarded && attempts < MAX_ATTEMPTS) {
            carrier = null;
            failedWorker = lastCarrier == null ? null : lastCarrier.workerId();
            state = State.WAITING;
            if (owner.retry(this)) {
                return;
            }
        }
        endFailed(failure);
    }

    /** Its client has sent all of it. */
    public boolean isRequestEnded() {
        return requestEnded;
    }

    /** Its client has yet to end the request, or to take what there is of the response. */
    public boolean isWaitingForClient() {
        return !requestEnded || untakenBytes > 0;
    }

    /** Bytes of the response that have come from the worker, and that the client has not taken. */
    public long untakenBytes() {
        return untakenBytes;
    }

    /** Bytes of the response that the client has taken. */
    public long takenBytes() {
        return responseBytes - untakenBytes;
    }

    /** The request is here to its end, and no larger than that. */
    public boolean isHeldWhole(int maxBodyBytes) {
        return requestBytes <= maxBodyBytes && requestEnded;
    }

    /** RFC 9110 section 9.2.2: doing it twice is no worse than doing it once. */
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

    private void endIf(boolean whole) {
        // The sink may have cancelled from within its call.
        if (!whole || state == State.ENDED) {
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
        owner.onEnded(this, outcome, failure);
    }

    /** At the end: for how long it has had a worker stream, the last one if there were several. */
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

    /** Tells the observer that the exchange has started. {@link #report} is due at the end. */
    public void announceTo(DispatcherObserver observer) {
        endListener = observer.onExchangeStart(this);
    }

    /** Harmless if no observer wants to know. */
    public void report(Outcome outcome, @Nullable Failure failure) {
        if (endListener != null) {
            describe(outcome, failure).reportTo(endListener);
        }
    }

    private FinishedExchange describe(Outcome outcome, @Nullable Failure failure) {
        long now = owner.nanoTime();
        int sent = failure != null && status == 0 ? failure.kind().status().code() : status;
        return new FinishedExchange(
                owner.function(),
                lastCarrier == null ? null : lastCarrier.workerId(),
                head.method(),
                head.path(),
                sent,
                outcome,
                failure == null ? null : failure.kind().name(),
                requestBytes,
                responseBytes,
                (attempts == 0 ? now : carriedNanos) - startNanos,
                now - startNanos,
                attempts);
    }
}
