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
 *   NEW ──▶ CROSSING ──▶ CARRIED ──its response is the client's──▶ CHOSEN
 *   NEW ──▶ CARRIED
 *   any ──it fails, or is given up──▶ OVER
 * </pre>
 */
public final class Try implements RemoteAttempt {

    private enum State {
        NEW,
        /**
         * On its way to a worker stream of another event loop, which may be closed on arrival. The
         * body stays here.
         */
        CROSSING,
        /** A carrier has the request. The client has nothing of its response. */
        CARRIED,
        /** The client gets its response, or has got it. */
        CHOSEN,
        OVER
    }

    private final Exchange exchange;
    private final Attempts attempts;

    private State state = State.NEW;
    private @Nullable Carrier carrier;
    private @Nullable RequestSink sink;
    private Http2Headers head = EmptyHttp2Headers.INSTANCE;
    private int number;
    private long startNanos;

    /** Whether the deadline, and no other timeout, limits it. */
    private boolean limitedByDeadline;

    /** Bytes of the body that its worker has taken. */
    private long takenBytes;

    // The handler's times; -1 = not known.
    private long handlerWaitMicros = -1;
    private long handlerMicros = -1;

    /** The one that began next, of those that are under way. */
    @Nullable
    Try next;

    Try(Exchange exchange, Attempts attempts) {
        this.exchange = exchange;
        this.attempts = attempts;
    }

    /** Serves another request. */
    void reset() {
        state = State.NEW;
        carrier = null;
        sink = null;
        head = EmptyHttp2Headers.INSTANCE;
        number = 0;
        startNanos = 0;
        limitedByDeadline = false;
        takenBytes = 0;
        onTiming(-1, -1);
        next = null;
    }

    /**
     * Begins. {@link #carry} follows.
     *
     * @param ordinal 1 for the request's first try
     */
    void begin(Carrier to, int ordinal, Http2Headers headers, long nowNanos) {
        assert state == State.NEW : state;
        state = to.isOfOtherLoop() ? State.CROSSING : State.CARRIED;
        carrier = to;
        number = ordinal;
        head = headers;
        startNanos = nowNanos;
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
            exchange.sendBody(this);
        }
    }

    boolean isCrossing() {
        return state == State.CROSSING;
    }

    /** Returns whether a carrier takes the rest of the request. */
    boolean isCarried() {
        return (state == State.CARRIED || state == State.CHOSEN) && !exchange.isEnded();
    }

    /** Returns whether it is under way, or its response was the client's. */
    boolean isAlive() {
        return state != State.OVER;
    }

    /** Returns where the rest of the request goes. */
    RequestSink sink() {
        if (sink == null) {
            throw new IllegalStateException("no carrier in state " + state);
        }
        return sink;
    }

    /** @return {@code null} before the carrier has accepted the headers */
    @Nullable
    RequestSink sinkOrNull() {
        return sink;
    }

    int number() {
        return number;
    }

    Http2Headers head() {
        return head;
    }

    long startNanos() {
        return startNanos;
    }

    boolean isLimitedByDeadline() {
        return limitedByDeadline;
    }

    long handlerWaitMicros() {
        return handlerWaitMicros;
    }

    long handlerMicros() {
        return handlerMicros;
    }

    /** Returns whether a worker has it, so that another worker can get the request, too. */
    boolean isOfWorker() {
        return carrier != null && carrier.isOfWorker();
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

    /** Tells the carrier that nobody waits for it. */
    void cancel(ErrorCode code) {
        if (state != State.OVER) {
            state = State.OVER;
            if (sink != null) {
                sink.cancel(code);
            }
        }
    }

    /** Its worker was slow, or its response is unwanted. Other workers come first for a time. */
    void doubtWorker() {
        if (carrier != null) {
            carrier.onGivenUp();
        }
    }

    // From the carrier.

    @Override
    public void onArrived() {
        if (state == State.CROSSING) {
            state = State.CARRIED;
            exchange.sendBody(this);
            attempts.onArrived(this);
        }
    }

    @Override
    public boolean isEnded() {
        return state == State.OVER || exchange.isEnded();
    }

    @Override
    public void onInterim(Http2Headers interim) {
        // Of several that are under way, only the first one's, so that they come from one handler.
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
