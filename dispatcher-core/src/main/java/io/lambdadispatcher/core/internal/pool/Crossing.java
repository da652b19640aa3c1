package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * Stands between an exchange and a worker stream of another event loop, and hands every call over. {@link Carrier} and
 * {@link RequestSink} are called on the exchange's loop, {@link Attempt} on the stream's; each side's mutable state is touched on that side
 * only. Buffers in a hand-over belong to it until it runs.
 */
final class Crossing implements Carrier, RequestSink, Attempt {
    private final Exchange exchange;
    private final PoolShard home;
    private final PoolShard away;
    private volatile @Nullable String workerId;

    // On the stream's loop.
    private @Nullable RequestSink stream;
    private boolean tunnel;
    private boolean requestEnded;
    private boolean responseEnded;
    /** The stream may carry another request by now. */
    private boolean over;

    Crossing(Exchange exchange, PoolShard home, PoolShard away) {
        this.exchange = exchange;
        this.home = home;
        this.away = away;
    }

    @Override
    public @Nullable String workerId() {
        return workerId;
    }

    @Override
    public RequestSink carry(Http2Headers head, boolean end, int timeoutMillis, Attempt attempt) {
        away.handover().post(() -> arrive(head, end, timeoutMillis));
        return this;
    }

    private void arrive(Http2Headers head, boolean end, int timeoutMillis) {
        Carrier taken = away.takeStream();
        if (taken == null) {
            away.onPermitWorthless();
            home.handover().post(() -> home.onStranded(exchange));
            return;
        }
        workerId = taken.workerId();
        tunnel = Exchange.isTunnel(head);
        requestEnded = end;
        home.handover().post(() -> exchange.onArrived(this));
        stream = taken.carry(head, end, timeoutMillis, this);
    }

    // Towards the worker.

    @Override
    public void data(ByteBuf data, boolean end) {
        away.handover().post(() -> {
            if (over || stream == null) {
                data.release();
            } else {
                onRequestEnd(end);
                stream.data(data, end);
            }
        });
    }

    @Override
    public void trailers(Http2Headers trailers) {
        away.handover().post(() -> {
            if (!over && stream != null) {
                onRequestEnd(true);
                stream.trailers(trailers);
            }
        });
    }

    private void onRequestEnd(boolean end) {
        requestEnded |= end;
        over |= requestEnded && responseEnded;
    }

    private void onResponseEnd(boolean end) {
        responseEnded |= end;
        over |= end && (!tunnel || requestEnded);
    }

    @Override
    public void cancel(ErrorCode code) {
        away.handover().post(() -> {
            if (!over && stream != null) {
                over = true;
                stream.cancel(code);
            }
        });
    }

    @Override
    public void responseTaken(int bytes) {
        away.handover().post(() -> {
            if (stream != null) {
                stream.responseTaken(bytes);
            }
        });
    }

    // Towards the client.

    @Override
    public void onInterim(Http2Headers head) {
        home.handover().post(() -> exchange.onInterim(head));
    }

    @Override
    public void onHead(Http2Headers head, boolean end) {
        tunnel = tunnel && head.status().charAt(0) == '2';
        onResponseEnd(end);
        home.handover().post(() -> exchange.onHead(head, end));
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        onResponseEnd(end);
        home.handover().post(() -> exchange.onData(data, end));
    }

    @Override
    public void onTrailers(Http2Headers trailers) {
        onResponseEnd(true);
        home.handover().post(() -> exchange.onTrailers(trailers));
    }

    @Override
    public void onRequestTaken(int bytes) {
        home.handover().post(() -> exchange.onRequestTaken(bytes));
    }

    @Override
    public void onFailure(Failure failure) {
        over = true;
        home.handover().post(() -> exchange.onFailure(failure));
    }

    @Override
    public void onRefused(Failure failure) {
        over = true;
        home.handover().post(() -> exchange.onRefused(failure));
    }

    @Override
    public void onLost(Failure failure) {
        over = true;
        home.handover().post(() -> exchange.onLost(failure));
    }
}
