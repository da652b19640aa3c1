package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.ExchangeOpener;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.ResponseFilter;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.concurrent.Ticker;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * A program's filter on one event loop.
 *
 * @param policyType requests without a policy of it pass by; {@code null} = all are filtered
 * @param function {@code null} = the filter is before the router
 */
record FilterStage(
        Filter filter,
        @Nullable Class<?> policyType,
        @Nullable String function,
        FunctionOpener next,
        FilterLoop home) implements FunctionOpener {
    private static final SeldomLog log =
            new SeldomLog(LoggerFactory.getLogger(FilteredRequest.class), Ticker.systemTicker());

    /** Puts filters before {@code target}, the first one first. */
    static FunctionOpener before(
            FunctionOpener target, List<Filter> filters, @Nullable String function, FilterLoop home) {
        FunctionOpener first = target;
        for (int i = filters.size() - 1; i >= 0; i--) {
            Filter filter = filters.get(i);
            first = new FilterStage(filter, function == null ? null : filter.policyType(), function, first, home);
        }
        return first;
    }

    EventLoop loop() {
        return home.loop();
    }

    DispatcherObserver observer() {
        return home.observer();
    }

    /** Logs that the filter has failed, and returns what the client gets. */
    Failure failureOf(Throwable error) {
        warn(error);
        return new Failure(Failure.Kind.FILTER_FAILED, "a filter failed: " + error);
    }

    /** Returns whether a filter wants a response that no client waits for. */
    boolean isWantedBy(@Nullable ResponseFilter follower) {
        try {
            return follower != null && follower.outlivesClient();
        } catch (Throwable e) {
            warn(e);
            return false;
        }
    }

    void warn(Throwable error) {
        String its = filter.getClass().getName();
        log.warnOf(its, "filter {} failed", its, error);
    }

    /** What is behind the router. Until then, no policy is known. */
    record Unrouted(ExchangeOpener router) implements FunctionOpener {
        @Override
        public RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy) {
            return router.open(head, end, response);
        }

        @Override
        public RequestSink refuse(Http2Headers head, ResponseSink response, Failure failure) {
            return router.refuse(head, response, failure);
        }

        @Override
        public TrafficPolicy policy() {
            return TrafficPolicy.NEUTRAL;
        }
    }

    /** Where the router sends requests of filters before it: their wait counts. */
    record Routed(String function, FunctionOpener next) implements FunctionOpener {
        @Override
        public RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy) {
            if (response instanceof FilteredRequest outer) {
                FilterContext context = outer.context;
                context.setFunction(function);
                TrafficPolicy rest = context.routed(policy);
                return next.open(context.passOn(), end, response, rest);
            }
            return next.open(head, end, response, policy);
        }

        @Override
        public TrafficPolicy policy() {
            return next.policy();
        }
    }

    @Override
    public TrafficPolicy policy() {
        return next.policy();
    }

    @Override
    public boolean isBreakerOpen(TrafficPolicy policy) {
        return next.isBreakerOpen(policy);
    }

    /** Opens a request of the filter's own, which passes only what is behind it. */
    void fork(FilterContext copy, GoneClient response, TrafficPolicy policy, Supplier<Decision> pass) {
        copy.setFunction(function);
        FilteredRequest request = new FilteredRequest(this, copy, true, response, policy);
        response.request(request);
        request.decideBy(pass);
    }

    @Override
    public RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy) {
        if (policyType != null && policy.extension(policyType) == null) {
            return next.open(head, end, response, policy);
        }
        FilterContext context =
                response instanceof FilteredRequest outer ? outer.context : new FilterContext(head, response, home);
        context.setFunction(function);
        FilteredRequest request = new FilteredRequest(this, context, end, response, policy);
        request.decideBy(() -> filter.onRequest(context));
        return request;
    }

    @Override
    public RequestSink refuse(Http2Headers head, ResponseSink response, Failure failure) {
        return next.refuse(head, response, failure);
    }
}
