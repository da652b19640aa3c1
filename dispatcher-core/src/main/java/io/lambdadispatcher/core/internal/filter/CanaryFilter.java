package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.policy.CanarySteps;
import io.lambdadispatcher.core.internal.policy.CanarySteps.Step;
import io.lambdadispatcher.core.internal.policy.ClientSession;
import io.lambdadispatcher.core.options.CanaryPolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Gives a share of a function's requests to its canary. Confined to its event loop. */
final class CanaryFilter implements FunctionOpener {
    private final FunctionOpener next;
    private final FunctionFilters filters;
    private final EventLoop loop;
    private final Function<String, @Nullable FunctionOpener> others;

    CanaryFilter(
            FunctionOpener next,
            FunctionFilters filters,
            EventLoop loop,
            Function<String, @Nullable FunctionOpener> others) {
        this.next = next;
        this.filters = filters;
        this.loop = loop;
        this.others = others;
    }

    @Override
    public TrafficPolicy policy() {
        return next.policy();
    }

    @Override
    public RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy) {
        CanaryPolicy canary = policy.canary();
        FunctionOpener other = canary.isOff() ? null : others.apply(canary.function());
        if (other == null) {
            return next.open(head, end, response, policy);
        }
        CanarySteps steps = filters.canary(canary);
        Step step = steps.step();
        int percent = step == null ? steps.percent() : step.percent();
        boolean chosen = percent == 100 || percent > 0 && ClientSession.point(policy.affinity(), head) * 100 < percent;
        ResponseSink watched =
                step == null ? response : new WatchedResponse(steps, step, chosen, loop.ticker(), response);
        return chosen
                ? other.open(head, end, watched, other.policy().undiverted())
                : next.open(head, end, watched, policy);
    }
}
