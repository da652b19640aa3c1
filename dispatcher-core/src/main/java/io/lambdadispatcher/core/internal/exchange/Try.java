package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * A request on one carrier: what a worker stream or a direct call knows of the exchange. The
 * response of one try becomes the client's. {@link Attempts} decides what follows if a try has
 * none. Confined to the client's event loop.
 *
 * <pre>
 *   CROSSING ──it arrives──▶ CARRIED ──its response is the client's──▶ CHOSEN
 *   any ──it fails, or is given up──▶ OVER
 * </pre>
 */
public final class Try implements Attempt {

    private enum State {
        /**
         * On its way to a worker stream of another event loop, which may be closed on arrival. The
         * body stays here.
         */
        CROSSING,
        /** A carrier has the request. The client has nothing of its response. */
        CARRIED,
        /** The client gets its response, or has got it. */
        CHOSEN,
        /** Also before it begins. */
        OVER
    }

    private final Exchange exchange;
    private final Attempts attempts;

    // begin() sets all fields that follow.

    private State state = State.OVER;
    private @Nullable Carrier carrier;

    /** Where the rest of the request goes; {@code null} before the carrier has the headers. */
    @Nullable
    RequestSink sink;

    Http2Headers head = EmptyHttp2Headers.INSTANCE;
    int number;
    long startNanos;

    /** Whether the deadline, and no other timeout, limits it. */
    boolean limitedByDeadline;

    /** Bytes of the body that its worker has taken. */
    private long takenBytes;

    // The handler's times; -1 = not known.
    long handlerWaitMicros;
    long handlerMicros;

    /** The one that began next, of those in flight. */
    @Nullable
    Try next;

    Try(Exchange exchange, Attempts attempts) {
        this.exchange = exchange;
        this.attempts = attempts;
    }

    /**
     * Begins. {@link #carry} follows.
     *
     * @param ordinal 1 for the request's first try
     */
    void begin(Carrier to, int ordinal, Http2Headers headers, long nowNanos) {
        state = to.isOfOtherLoop() ? State.CROSSING : State.CARRIED;
        carrier = to;
        sink = null;
        number = ordinal;
        head = headers;
        startNanos = nowNanos;
        limitedByDeadline = false;
        takenBytes = 0;
        onTiming(-1, -1);
        next = null;
    }

    /** Begins beside other tries, on a carrier that was found for it. */
    public void carryOn(Carrier found) {
        attempts.beginBeside(this, found);
    }

    /** Sends the headers, and the body as far as it has arrived. */
    void carry(Carrier to, boolean bodyless, int timeoutMillis, boolean byDeadline) {
        limitedByDeadline = byDeadline;
        sink = to.carry(head, bodyless, timeoutMillis, this);
        if (isCarried()) {
            attempts.sendBody(this);
        }
    }

    boolean isCrossing() {
        return state == State.CROSSING;
    }

    /** Returns whether a carrier takes the rest of the request. */
    boolean isCarried() {
        return (state == State.CARRIED || state == State.CHOSEN) && !exchange.isEnded();
    }

    RequestSink sink() {
        if (sink == null) {
            throw new IllegalStateException("no carrier in state " + state);
        }
        return sink;
    }

    /** Returns whether a worker has it, so that another worker can get the request, too. */
    boolean isOfWorker() {
        return carrier != null && carrier.isOfWorker();
    }

    boolean isOfBase() {
        return carrier != null && carrier.isOfBase();
    }

    @Nullable
    String workerId() {
        return carrier == null ? null : carrier.workerId();
    }

    // How it ends.

    /** Its response is the client's. */
    void choose() {
        state = State.CHOSEN;
    }

    /** It has failed. */
    void end() {
        state = State.OVER;
    }

    /**
     * Tells the carrier that nobody waits for it.
     *
     * @return false if it was over
     */
    boolean cancel(ErrorCode code) {
        boolean cancelled = state != State.OVER;
        state = State.OVER;
        if (cancelled && sink != null) {
            sink.cancel(code);
        }
        return cancelled;
    }

    /** Its worker was slow, or its response is unwanted. Other workers come first for a time. */
    void doubtWorker() {
        if (carrier != null) {
            carrier.onGivenUp();
        }
    }

    // From the carrier.

    /** The worker stream of another event loop has accepted the headers. */
    public void onArrived() {
        if (state == State.CROSSING) {
            state = State.CARRIED;
            attempts.sendBody(this);
            attempts.onArrived(this);
        }
    }

    /** Returns whether nobody waits for it any more. */
    public boolean isEnded() {
        return state == State.OVER || exchange.isEnded();
    }

    @Override
    public void onInterim(Http2Headers interim) {
        // Of several in flight, only the first one's, so that they come from one handler.
        if (state == State.CARRIED && attempts.isCurrent(this)) {
            exchange.onInterim(interim);
        }
    }

    @Override
    public boolean isDoneWithHead() {
        return exchange.isDoneWithHead();
    }

    @Override
    public void onHead(Http2Headers responseHead, boolean end) {
        if (state == State.CARRIED && !exchange.isEnded()) {
            attempts.onHead(this, responseHead, end);
        }
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        if (state == State.CHOSEN) {
            exchange.onData(data, end);
        } else {
            data.release();
        }
    }

    @Override
    public void onTrailers(Http2Headers last) {
        if (state == State.CHOSEN) {
            exchange.onTrailers(last);
        }
    }

    @Override
    public void onRequestTaken(int bytes) {
        if (state != State.OVER) {
            takenBytes += bytes;
            exchange.onRequestTaken(takenBytes);
        }
    }

    @Override
    public void onTiming(long waitMicros, long micros) {
        handlerWaitMicros = waitMicros;
        handlerMicros = micros;
    }

    @Override
    public void onFailure(Failure failure) {
        if (!isEnded()) {
            attempts.onFailure(this, failure);
        }
    }

    @Override
    public void onRefused(Failure failure) {
        if (!isEnded()) {
            attempts.onRefused(this, failure);
        }
    }

    @Override
    public void onBusy(Failure failure) {
        if (!isEnded()) {
            attempts.onBusy(this, failure);
        }
    }

    @Override
    public void onLost(Failure failure) {
        if (!isEnded()) {
            attempts.onLost(this, failure);
        }
    }
}
