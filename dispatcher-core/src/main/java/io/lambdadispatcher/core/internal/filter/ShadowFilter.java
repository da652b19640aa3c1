package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.options.ShadowPolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.http.Methods;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Copies some of a function's requests to another function. Confined to its event loop. */
final class ShadowFilter implements FunctionOpener {
    private final FunctionOpener next;
    private final Shadows shadows;
    private final EventLoop loop;
    private final Function<String, @Nullable FunctionOpener> others;

    ShadowFilter(
            FunctionOpener next, Shadows shadows, EventLoop loop, Function<String, @Nullable FunctionOpener> others) {
        this.next = next;
        this.shadows = shadows;
        this.loop = loop;
        this.others = others;
    }

    @Override
    public TrafficPolicy policy() {
        return next.policy();
    }

    @Override
    public RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy) {
        ShadowPolicy shadow = policy.shadow();
        if (shadow.isOff() || !isCopied(shadow, head.method())) {
            return next.open(head, end, response, policy);
        }
        FunctionOpener other = others.apply(shadow.function());
        if (other == null) {
            return next.open(head, end, response, policy);
        }
        if (!shadows.tryEnter(shadow.maxRequests())) {
            shadows.onSkipped(shadow.function());
            return next.open(head, end, response, policy);
        }
        ShadowedExchange exchange = new ShadowedExchange(shadows, shadow, loop, head, response);
        return exchange.open(next, policy, other, end);
    }

    private static boolean isCopied(ShadowPolicy shadow, CharSequence method) {
        boolean mayBe = shadow.allMethods() ? !Methods.isConnect(method) : Methods.isSafe(method);
        return mayBe && (shadow.share() == 1 || ThreadLocalRandom.current().nextDouble() < shadow.share());
    }
}
