package io.lambdadispatcher.core.internal.direct;

import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.ExchangeOwner;
import io.lambdadispatcher.core.internal.exchange.ExchangeTimer;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.loop.TimerHeap;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.observe.RequestSnapshot;
import io.lambdadispatcher.core.observe.RetryDenial;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Holds the requests of one event loop's clients that invoke a function directly. Confined to that
 * event loop, which the entry points assert.
 */
public final class DirectShard implements FunctionOpener, ExchangeOwner {
    private FunctionOptions options;
    private final DirectFunction function;
    private final EventLoop loop;
    private final DispatcherObserver observer;
    private final boolean observed;
    private final DeadlineQueue<Exchange> underWay;
    private final TimerHeap<ExchangeTimer> timers;

    /** Why no exchange can begin any more; {@code null} = one can. */
    private @Nullable Failure closed;

    public DirectShard(FunctionOptions options, DirectFunction function, EventLoop loop, DispatcherObserver observer) {
        this.options = options;
        this.function = function;
        this.loop = loop;
        this.observer = observer;
        this.observed = observer != DispatcherObserver.NONE;
        this.underWay = new DeadlineQueue<>(loop, workerTimeoutNanos(), this::onRequestTimeout);
        this.timers = new TimerHeap<>(loop, ExchangeTimer::onDue);
    }

    /** Applies a new timeout. Requests in flight keep theirs. */
    @Override
    public void setOptions(FunctionOptions value) {
        assert loop.inEventLoop();
        options = value;
        underWay.setTimeout(workerTimeoutNanos());
    }

    @Override
    public TrafficPolicy policy() {
        return options.traffic();
    }

    @Override
    public RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy) {
        assert loop.inEventLoop();
        Exchange exchange = new Exchange(this, head, end, response, policy);
        if (observed) {
            exchange.announceTo(observer);
        }
        if (closed != null) {
            exchange.fail(closed);
            return exchange;
        }
        if (!function.admission().admit(exchange) || !exchange.startDeadline()) {
            return exchange;
        }
        if (Exchange.isTunnel(head)) {
            exchange.fail(new Failure(
                    Failure.Kind.NO_TUNNELS,
                    "function " + options.name() + " is invoked directly, which does not support tunnels"));
            return exchange;
        }
        if (!end && !function.tryBeginBody(exchange)) {
            observer.onProtection(Protection.SHARE_EXCEEDED);
            exchange.fail(new Failure(
                    Failure.Kind.QUEUE_FULL,
                    "function " + options.name() + " has too many direct requests with incomplete bodies"));
        } else {
            Carrier call =
                    new DirectCall(function, loop, false, options.queueTimeout().toNanos());
            underWay.add(exchange, exchange.onCarrierFound(call));
            exchange.carryOn(call);
        }
        return exchange;
    }

    /**
     * Returns a carrier for a complete request that has waited long enough for a worker.
     *
     * @return {@code null} if the request must continue to wait
     */
    public @Nullable Carrier newOverflow() {
        assert loop.inEventLoop();
        boolean begun = function.permitsOverflow() && function.tryBeginCall();
        return begun ? new DirectCall(function, loop, true, 0) : null;
    }

    @Override
    public void onRequestEnded(Exchange exchange) {
        assert loop.inEventLoop();
        function.onBodyEnded(exchange);
    }

    @Override
    public TimerHeap<ExchangeTimer> timers() {
        return timers;
    }

    /** Never retries, because the function may have begun, and a retry worsens throttling. */
    @Override
    public RetryDenial takeExtraAttempt(ExtraAttempt reason) {
        return RetryDenial.DIRECT;
    }

    @Override
    public void onEnded(Exchange exchange, Outcome outcome, @Nullable Failure failure) {
        assert loop.inEventLoop();
        underWay.remove(exchange);
        function.onEnded(exchange);
        exchange.report(outcome, failure);
    }

    @Override
    public void onTunnelOpened(Exchange exchange) {
        throw new IllegalStateException("a direct request opened a tunnel");
    }

    @Override
    public WaitReason waitReason() {
        throw new IllegalStateException("a direct request was queued");
    }

    @Override
    public String function() {
        return options.name();
    }

    @Override
    public boolean isQuiet() {
        assert loop.inEventLoop();
        return underWay.size() == 0;
    }

    @Override
    public boolean failQueued(Failure failure) {
        assert loop.inEventLoop();
        closed = failure;
        return false;
    }

    @Override
    public void failAll(Failure failure) {
        failQueued(failure);
        for (Exchange left = underWay.poll(); left != null; left = underWay.poll()) {
            left.fail(failure);
        }
    }

    @Override
    public void inspect(int limit, Consumer<RequestSnapshot> snapshots) {
        assert loop.inEventLoop();
        underWay.forOldest(limit, exchange -> snapshots.accept(exchange.snapshot(RequestSnapshot.State.SENT)));
    }

    private void onRequestTimeout(Exchange exchange) {
        exchange.fail(new Failure(
                Failure.Kind.TIMEOUT,
                "no complete response within " + options.workerTimeout().toMillis() + " ms"));
    }

    @Override
    public long nanoTime() {
        return loop.ticker().nanoTime();
    }

    @Override
    public long workerTimeoutNanos() {
        return options.workerTimeout().toNanos();
    }
}
