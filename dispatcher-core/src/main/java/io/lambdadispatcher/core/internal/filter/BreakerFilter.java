package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.exchange.UnsentExchange;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.policy.Breaker;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.BreakerPolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Refuses requests while the breaker of their route is open, and tells the breaker how the others
 * end. The event loops share the breakers. Each has a queue of the requests that may become too
 * slow. Confined to the event loop.
 */
final class BreakerFilter implements FunctionOpener {
    private static final RequestSink NOWHERE = new DiscardingSink();

    /** More than the routes of a function. Changes of the options leave watches behind. */
    private static final int MAX_WATCHES = 1_000;

    private final FunctionOpener target;
    private final FunctionFilters filters;
    private final EventLoop loop;
    private final DispatcherObserver observer;
    private final Map<BreakerPolicy, Watch> watches = new IdentityHashMap<>();

    /** Most requests have the policy of the previous one. */
    private @Nullable Watch latest;

    BreakerFilter(FunctionOpener target, FunctionFilters filters, EventLoop loop, DispatcherObserver observer) {
        this.target = target;
        this.filters = filters;
        this.loop = loop;
        this.observer = observer;
    }

    /**
     * A policy, its breaker, and the requests of this event loop with this policy whose response
     * may become too late. Policies with the same name share the breaker, but each request is
     * judged by its own policy.
     */
    final class Watch {
        private final Breaker breaker;
        private final DeadlineQueue<WatchedExchange> pending;
        private final BreakerPolicy policy;

        Watch(Breaker breaker, BreakerPolicy policy) {
            this.breaker = breaker;
            this.policy = policy;
            pending = new DeadlineQueue<>(loop, policy.latency().toNanos(), WatchedExchange::onSlow);
        }

        /** The worker has the complete request. */
        void start(WatchedExchange exchange) {
            if (!policy.latency().isZero()) {
                pending.add(exchange, nanoTime());
            }
        }

        void stop(WatchedExchange exchange) {
            pending.remove(exchange);
        }

        void onEnd(Breaker.Phase passed, boolean failed) {
            breaker.onEnd(passed, failed, policy, nanoTime());
        }
    }

    long nanoTime() {
        return loop.ticker().nanoTime();
    }

    @Override
    public TrafficPolicy policy() {
        return target.policy();
    }

    @Override
    public boolean isBreakerOpen(TrafficPolicy policy) {
        return !policy.breaker().isOff() && filters.isOpen(policy.breaker());
    }

    @Override
    public RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy) {
        if (policy.breaker().isOff()) {
            return target.open(head, end, response, policy);
        }
        Watch watch = watch(policy.breaker());
        long now = nanoTime();
        Breaker.Phase passed = watch.breaker.tryPass(policy.breaker(), now);
        if (passed == null) {
            refuse(head, response, policy.breaker(), watch.breaker.leftNanos(now));
            return NOWHERE;
        }
        WatchedExchange exchange = new WatchedExchange(this, watch, passed, response, end, policy, now);
        exchange.setTarget(target.open(head, end, exchange, policy));
        return exchange;
    }

    private Watch watch(BreakerPolicy policy) {
        Watch its = latest;
        if (its == null || its.policy != policy) {
            if (watches.size() >= MAX_WATCHES) {
                // The requests keep their watches.
                watches.clear();
            }
            its = watches.computeIfAbsent(policy, key -> new Watch(filters.breaker(key.name(), nanoTime()), key));
            latest = its;
        }
        return its;
    }

    private void refuse(Http2Headers head, ResponseSink response, BreakerPolicy policy, long leftNanos) {
        int seconds = (int) TimeUnit.NANOSECONDS.toSeconds(leftNanos + TimeUnit.SECONDS.toNanos(1) - 1);
        Failure failure = new Failure(
                Failure.Kind.BREAKER_OPEN,
                "too many recent requests for function " + filters.function() + " failed (breaker " + policy.name()
                        + ")",
                Math.max(1, seconds));
        if (observer != DispatcherObserver.NONE) {
            new UnsentExchange(filters.function(), head, response).reportFailed(observer, failure);
        }
        response.onFailure(failure);
    }
}
