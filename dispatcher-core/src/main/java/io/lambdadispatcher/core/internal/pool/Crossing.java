package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.Try;
import io.lambdadispatcher.core.internal.loop.Loops;
import io.lambdadispatcher.wire.http.TunnelHead;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Connects an exchange with a worker stream of another event loop, and passes each call to the
 * other loop.
 *
 * <p><i>Threading:</i> {@link Carrier} and {@link RequestSink} are called on the exchange's loop,
 * {@link Attempt} on the stream's loop. All mutable state is confined to the stream's loop, except
 * the worker's id, which is volatile, the kind of the worker, and whether the exchange's side has
 * cancelled.
 *
 * <p><i>Buffers:</i> a call owns its buffer until the call has run. If the other loop rejects the
 * call, this class releases the buffer.
 *
 * <p><i>Errors:</i> an embedding program may shut down an event loop before it closes the
 * dispatcher. That loop then rejects calls. If it is the stream's loop, the exchange fails. If it
 * is the exchange's loop, the stream is cancelled.
 */
final class Crossing implements Carrier, RequestSink, Attempt {
    private final Try exchange;
    private final PoolShard home;
    private final PoolShard away;
    private final Function<FreeStreams, @Nullable Carrier> use;
    private final Runnable onStranded;
    /** Written before the worker's id. */
    private boolean ofBase;

    private volatile @Nullable String workerId;

    /** Whether the exchange's side has cancelled. Used on the exchange's event loop. */
    private boolean cancelled;

    // Used on the stream's event loop.
    private @Nullable Carrier carrier;
    private @Nullable RequestSink stream;
    private boolean tunnel;
    private boolean requestEnded;
    private boolean responseEnded;
    /** Whether this exchange has ended on the stream, which may carry another request by now. */
    private boolean over;

    /**
     * @param use uses the permit of {@code away}: takes a stream, or returns {@code null} if there
     *     is none that the exchange should get
     * @param onStranded called on the exchange's loop if there was none
     */
    Crossing(
            Try exchange,
            PoolShard home,
            PoolShard away,
            Function<FreeStreams, @Nullable Carrier> use,
            Runnable onStranded) {
        this.exchange = exchange;
        this.home = home;
        this.away = away;
        this.use = use;
        this.onStranded = onStranded;
    }

    @Override
    public @Nullable String workerId() {
        return workerId;
    }

    @Override
    public boolean isOfBase() {
        return workerId != null && ofBase;
    }

    @Override
    public boolean isOfOtherLoop() {
        return true;
    }

    /**
     * Runs the call on loop {@code to}.
     *
     * @return false if that loop has ended
     */
    private static boolean pass(EventLoop from, EventLoop to, Runnable call) {
        assert from.inEventLoop();
        return Loops.execute(to, call);
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
        Carrier taken = use.apply(away.free);
        if (taken == null) {
            away.wakeUps.onPermitUnused();
            toClient(() -> {
                // It can be cancelled before it arrives.
                if (!cancelled) {
                    onStranded.run();
                }
            });
            return;
        }
        ofBase = taken.isOfBase();
        workerId = taken.workerId();
        carrier = taken;
        tunnel = Exchange.isTunnel(head);
        requestEnded = end;
        boolean wanted = toClient(() -> exchange.onArrived());
        stream = taken.carry(head, end, timeoutMillis, this);
        if (!wanted) {
            cancelStream(ErrorCode.CANCELLED);
        }
    }

    @Override
    public void onGivenUp() {
        pass(home.loop(), away.loop(), () -> {
            if (carrier != null) {
                carrier.onGivenUp();
            }
        });
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
     * Cancels the worker stream. If the stream's loop has ended, there is nothing to cancel, and
     * the exchange ends by itself.
     */
    @Override
    public void cancel(ErrorCode code) {
        cancelled = true;
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
            if (!over && stream != null) {
                stream.responseTaken(bytes);
            }
        });
    }

    // Calls towards the client, on the stream's event loop. They have no effect if the exchange's
    // side has cancelled by the time they arrive.

    private boolean toClient(Runnable call) {
        boolean passed = pass(away.loop(), home.loop(), call);
        if (!passed) {
            cancelStream(ErrorCode.CANCELLED);
        }
        return passed;
    }

    @Override
    public void onInterim(Http2Headers head) {
        toClient(() -> {
            if (!cancelled) {
                exchange.onInterim(head);
            }
        });
    }

    @Override
    public void onTiming(long waitMicros, long handlerMicros) {
        toClient(() -> {
            if (!cancelled) {
                exchange.onTiming(waitMicros, handlerMicros);
            }
        });
    }

    @Override
    public void onHead(Http2Headers head, boolean end) {
        tunnel = tunnel && TunnelHead.opens(head);
        onResponseEnd(end);
        toClient(() -> {
            if (!cancelled) {
                exchange.onHead(head, end);
            }
        });
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        onResponseEnd(end);
        boolean passed = toClient(() -> {
            if (cancelled) {
                data.release();
            } else {
                exchange.onData(data, end);
            }
        });
        if (!passed) {
            data.release();
        }
    }

    @Override
    public void onTrailers(Http2Headers trailers) {
        onResponseEnd(true);
        toClient(() -> {
            if (!cancelled) {
                exchange.onTrailers(trailers);
            }
        });
    }

    private void onResponseEnd(boolean end) {
        responseEnded |= end;
        over |= end && (!tunnel || requestEnded);
    }

    /**
     * Reports request bytes that the worker has taken, unless the exchange has ended meanwhile, and
     * its client's stream may serve another request. Cancels nothing if the exchange's loop has
     * ended, because the stream's outlet must not be written to from here.
     */
    @Override
    public void onRequestTaken(int bytes) {
        pass(away.loop(), home.loop(), () -> {
            if (!cancelled && !exchange.isEnded()) {
                exchange.onRequestTaken(bytes);
            }
        });
    }

    @Override
    public void onFailure(Failure failure) {
        end(failure, Attempt::onFailure);
    }

    @Override
    public void onRefused(Failure failure) {
        end(failure, Attempt::onRefused);
    }

    @Override
    public void onBusy(Failure failure) {
        end(failure, Attempt::onBusy);
    }

    @Override
    public void onLost(Failure failure) {
        end(failure, Attempt::onLost);
    }

    private void end(Failure failure, BiConsumer<Attempt, Failure> how) {
        over = true;
        toClient(() -> {
            if (!cancelled) {
                how.accept(exchange, failure);
            }
        });
    }
}
