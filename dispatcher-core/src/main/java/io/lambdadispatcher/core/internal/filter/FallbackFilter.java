package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Answers a request with another function, or with a fixed response, if its function does not. The
 * other function has no fallback of its own, so there is no cycle. Confined to the event loop.
 */
final class FallbackFilter implements FunctionOpener {
    private final FunctionOpener target;
    private final EventLoop loop;
    private final Function<String, @Nullable FunctionOpener> others;

    FallbackFilter(FunctionOpener target, EventLoop loop, Function<String, @Nullable FunctionOpener> others) {
        this.target = target;
        this.loop = loop;
        this.others = others;
    }

    @Override
    public TrafficPolicy policy() {
        return target.policy();
    }

    @Override
    public RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy) {
        if (policy.fallback().isOff() || Exchange.isTunnel(head)) {
            return target.open(head, end, response, policy);
        }
        String name = policy.fallback().function();
        FunctionOpener other = name == null ? null : others.apply(name);
        FallbackExchange exchange = new FallbackExchange(loop.ticker(), other, head, end, response, policy);
        exchange.setFirst(target.open(head, end, exchange, policy));
        return exchange;
    }
}
