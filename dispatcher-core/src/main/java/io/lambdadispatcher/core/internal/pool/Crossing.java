package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * Connects an exchange with a worker stream of another event loop. Each call is passed on to the
 * other event loop.
 *
 * <p><b>Threading.</b> {@link Carrier} and {@link RequestSink} are called on the exchange's event
 * loop, {@link Attempt} on the stream's. All mutable state belongs to the stream's event loop,
 * except the worker's id, which is volatile.
 *
 * <p><b>Buffers.</b> A buffer belongs to its call until the call has run. A call that the other
 * event loop refuses releases it.
 *
 * <p><b>Errors.</b> An event loop refuses calls after it has ended. An embedding program can end it
 * before it closes the dispatcher. If the stream's event loop has ended, the exchange fails. If the
 * exchange's event loop has ended, the stream is cancelled.
 */
final class Crossing implements Carrier, RequestSink, Attempt {
    private final Exchange exchange;
    private final PoolShard home;
    private final PoolShard away;
    private final @Nullable String avoidedWorker;
    private volatile @Nullable String workerId;

    // Used on the stream's event loop.
    private @Nullable RequestSink stream;
    private boolean tunnel;
    private boolean requestEnded;
    private boolean responseEnded;
    /** Whether the exchange has ended. The stream can already carry another request. */
    private boolean over;

    /**
     * @param avoidedWorker the worker whose streams it must not take; {@code null} if any will do
     */
    Crossing(Exchange exchange, PoolShard home, PoolShard away, @Nullable String avoidedWorker) {
        this.exchange = exchange;
        this.home = home;
        this.away = away;
        this.avoidedWorker = avoidedWorker;
    }

    @Override
    public @Nullable String workerId() {
        return workerId;
    }

    /** @return false if the called event loop has ended */
    private static boolean pass(EventLoop from, EventLoop to, Runnable call) {
        assert from.inEventLoop();
        try {
            to.execute(call);
            return true;
        } catch (RejectedExecutionException e) {
            return false;
        }
    }

    // Calls towards the worker, on the exchange's event loop.

    private boolean toWorker(Runnable call) {
        boolean passed = pass(home.loop(), away.loop(), call);
        if (!passed) {
            exchange.onFailure(new Failure(Failure.Kind.SHUTTING_DOWN, "the worker stream's event loop has ended"));
        }
        return passed;
    }

    @Override
    public RequestSink carry(Http2Headers head, boolean end, int timeoutMillis, Attempt attempt) {
        toWorker(() -> arrive(head, end, timeoutMillis));
        return this;
    }

    private void arrive(Http2Headers head, boolean end, int timeoutMillis) {
        Carrier taken = away.takeStream(avoidedWorker);
        if (taken == null) {
            away.onPermitUnused();
            toClient(() -> home.onStranded(exchange, away));
            return;
        }
        workerId = taken.workerId();
        tunnel = Exchange.isTunnel(head);
        requestEnded = end;
        boolean wanted = toClient(() -> exchange.onArrived(this));
        stream = taken.carry(head, end, timeoutMillis, this);
        if (!wanted) {
            cancelStream(ErrorCode.CANCELLED);
        }
    }

    @Override
    public void data(ByteBuf data, boolean end) {
        boolean passed = toWorker(() -> {
            if (over || stream == null) {
                data.release();
            } else {
                onRequestEnd(end);
                stream.data(data, end);
            }
        });
        if (!passed) {
            data.release();
        }
    }

    @Override
    public void trailers(Http2Headers trailers) {
        toWorker(() -> {
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

    /**
     * If the stream's event loop has ended, there is nothing to cancel, and the exchange ends by
     * itself.
     */
    @Override
    public void cancel(ErrorCode code) {
        pass(home.loop(), away.loop(), () -> cancelStream(code));
    }

    private void cancelStream(ErrorCode code) {
        if (!over && stream != null) {
            over = true;
            stream.cancel(code);
        }
    }

    @Override
    public void responseTaken(int bytes) {
        pass(home.loop(), away.loop(), () -> {
            if (stream != null) {
                stream.responseTaken(bytes);
            }
        });
    }

    // Calls towards the client, on the stream's event loop.

    private boolean toClient(Runnable call) {
        boolean passed = pass(away.loop(), home.loop(), call);
        if (!passed) {
            cancelStream(ErrorCode.CANCELLED);
        }
        return passed;
    }

    @Override
    public void onInterim(Http2Headers head) {
        toClient(() -> exchange.onInterim(head));
    }

    @Override
    public void onHead(Http2Headers head, boolean end) {
        tunnel = tunnel && head.status().charAt(0) == '2';
        onResponseEnd(end);
        toClient(() -> exchange.onHead(head, end));
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        onResponseEnd(end);
        int bytes = data.readableBytes();
        boolean passed = toClient(() -> exchange.onData(data, end));
        if (!passed) {
            data.release();
            if (stream != null) {
                stream.responseTaken(bytes);
            }
        }
    }

    @Override
    public void onTrailers(Http2Headers trailers) {
        onResponseEnd(true);
        toClient(() -> exchange.onTrailers(trailers));
    }

    private void onResponseEnd(boolean end) {
        responseEnded |= end;
        over |= end && (!tunnel || requestEnded);
    }

    /**
     * Cancels nothing if the exchange's event loop has ended, because only the stream's event loop
     * may write to the outlet.
     */
    @Override
    public void onRequestTaken(int bytes) {
        pass(away.loop(), home.loop(), () -> exchange.onRequestTaken(bytes));
    }

    @Override
    public void onFailure(Failure failure) {
        over = true;
        toClient(() -> exchange.onFailure(failure));
    }

    @Override
    public void onRefused(Failure failure) {
        over = true;
        toClient(() -> exchange.onRefused(failure));
    }

    @Override
    public void onLost(Failure failure) {
        over = true;
        toClient(() -> exchange.onLost(failure));
    }
}
