package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * A second attempt beside the first one of the same exchange. Nothing of it reaches the client
 * until the exchange {@linkplain #adopt adopts} it, because it answers first or because the first
 * attempt has failed. From then on, it passes all calls on. The request is complete when a hedge
 * starts.
 *
 * <p><i>Buffers:</i> owns its copy of the body until it is sent. Confined to the client's event
 * loop.
 */
public final class Hedge implements RemoteAttempt {

    private enum State {
        /** Both attempts are pending. */
        RACING,
        /** This attempt is the exchange's only one. */
        ADOPTED,
        /** The other attempt is the exchange's only one. */
        DROPPED
    }

    private final Exchange exchange;
    private final Http2Headers head;
    private final int number;
    private final int timeoutMillis;
    private final long startNanos;

    private State state = State.RACING;
    private @Nullable EarlyBody body;
    private final @Nullable Http2Headers trailers;
    private @Nullable Carrier carrier;
    private @Nullable RequestSink sink;
    private int takenBytes;
    private long handlerWaitMicros = -1;
    private long handlerMicros = -1;

    /**
     * @param head headers that no other attempt uses
     * @param body complete body, owned by this object; {@code null} = none
     */
    Hedge(
            Exchange exchange,
            int number,
            Http2Headers head,
            @Nullable EarlyBody body,
            @Nullable Http2Headers trailers,
            int timeoutMillis,
            long startNanos) {
        this.exchange = exchange;
        this.number = number;
        this.head = head;
        this.body = body;
        this.trailers = trailers;
        this.timeoutMillis = timeoutMillis;
        this.startNanos = startNanos;
    }

    /** Sends the request to a worker stream, of this or of another event loop. */
    public void carryOn(Carrier stream) {
        carrier = stream;
        exchange.onHedgeStarted(this);
        RequestSink to = stream.carry(head, body == null && trailers == null, timeoutMillis, this);
        sink = to;
        EarlyBody parts = body;
        body = null;
        if (parts != null && isEnded()) {
            parts.release();
        } else if (parts != null) {
            for (ByteBuf part = parts.poll(); part != null; part = parts.poll()) {
                to.data(part, parts.isEmpty() && trailers == null);
            }
        }
        if (trailers != null && !isEnded()) {
            to.trailers(trailers);
        }
    }

    /** Releases the body of a hedge for which there is no worker. */
    void release() {
        state = State.DROPPED;
        if (body != null) {
            body.release();
            body = null;
        }
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

    @Nullable
    Carrier carrier() {
        return carrier;
    }

    @Nullable
    String workerId() {
        return carrier == null ? null : carrier.workerId();
    }

    /** Makes this attempt the only one, and returns where the exchange's calls go from now on. */
    @Nullable
    RequestSink adopt() {
        state = State.ADOPTED;
        if (handlerMicros >= 0) {
            exchange.onTiming(handlerWaitMicros, handlerMicros);
        }
        return sink;
    }

    /** Returns the bytes of the body that its worker had taken before the adoption. */
    int takenBytes() {
        return takenBytes;
    }

    /** Ends this attempt, because the other one is the only one from now on. */
    void drop() {
        if (state == State.RACING) {
            state = State.DROPPED;
            if (sink != null) {
                sink.cancel(ErrorCode.CANCELLED);
            }
        }
    }

    // From the worker stream.

    /** It found no free stream on the other event loop. */
    public void onStranded(Failure failure) {
        if (state == State.ADOPTED) {
            exchange.onBusy(failure);
        } else {
            lose(failure, true);
        }
    }

    private void lose(Failure failure, boolean unseen) {
        if (state == State.RACING) {
            state = State.DROPPED;
            exchange.onHedgeLost(this, failure, unseen);
        }
    }

    @Override
    public void onArrived(RequestSink arrived) {}

    @Override
    public boolean isEnded() {
        return state == State.DROPPED || exchange.isEnded();
    }

    @Override
    public void onInterim(Http2Headers interim) {
        if (state == State.ADOPTED) {
            exchange.onInterim(interim);
        }
    }

    @Override
    public boolean isDoneWithHead() {
        return exchange.isDoneWithHead();
    }

    @Override
    public void onHead(Http2Headers responseHead, boolean end) {
        if (state == State.RACING && !exchange.onHedgeAnswered(this, responseHead)) {
            drop();
            return;
        }
        if (state == State.ADOPTED) {
            exchange.onHead(responseHead, end);
        }
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        if (state == State.ADOPTED) {
            exchange.onData(data, end);
        } else {
            data.release();
        }
    }

    @Override
    public void onTrailers(Http2Headers last) {
        if (state == State.ADOPTED) {
            exchange.onTrailers(last);
        }
    }

    @Override
    public void onRequestTaken(int bytes) {
        if (state == State.ADOPTED) {
            exchange.onRequestTaken(bytes);
        } else {
            takenBytes += bytes;
        }
    }

    @Override
    public void onTiming(long waitMicros, long micros) {
        if (state == State.ADOPTED) {
            exchange.onTiming(waitMicros, micros);
        } else {
            handlerWaitMicros = waitMicros;
            handlerMicros = micros;
        }
    }

    @Override
    public void onFailure(Failure failure) {
        if (state == State.ADOPTED) {
            exchange.onFailure(failure);
        } else {
            lose(failure, false);
        }
    }

    @Override
    public void onRefused(Failure failure) {
        if (state == State.ADOPTED) {
            exchange.onRefused(failure);
        } else {
            lose(failure, false);
        }
    }

    @Override
    public void onBusy(Failure failure) {
        if (state == State.ADOPTED) {
            exchange.onBusy(failure);
        } else {
            lose(failure, true);
        }
    }

    @Override
    public void onLost(Failure failure) {
        if (state == State.ADOPTED) {
            exchange.onLost(failure);
        } else {
            lose(failure, false);
        }
    }
}
