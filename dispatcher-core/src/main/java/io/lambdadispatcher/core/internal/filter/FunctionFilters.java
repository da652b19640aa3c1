package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.policy.Breaker;
import io.lambdadispatcher.core.observe.BreakerSnapshot;
import io.lambdadispatcher.core.observe.BreakerState;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.BreakerPolicy;
import io.netty.channel.EventLoop;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** The breakers of one function, which all event loops share. Any thread. */
public final class FunctionFilters {
    private static final Logger log = LoggerFactory.getLogger(FunctionFilters.class);

    private final String function;
    private final DispatcherObserver observer;

    /** By the name of their policy, of which there are as many as the operator has named. */
    private final Map<String, Breaker> breakers = new ConcurrentHashMap<>();

    public FunctionFilters(String function, DispatcherObserver observer) {
        this.function = function;
        this.observer = observer;
    }

    public String function() {
        return function;
    }

    /** Returns the function behind the filter of its breakers on one event loop. */
    public FunctionOpener around(FunctionOpener target, EventLoop loop) {
        return new BreakerFilter(target, this, loop, observer);
    }

    /** Returns the breaker of all policies with this name, which a reload keeps. */
    Breaker breaker(String name, long nowNanos) {
        return breakers.computeIfAbsent(
                name, key -> new Breaker((state, reason) -> onBreaker(key, state, reason), nowNanos));
    }

    /** Returns the state of each breaker that has opened. */
    public Stream<BreakerSnapshot> breakers() {
        return breakers.entrySet().stream()
                .map(each -> each.getValue().snapshot(function, each.getKey()))
                .filter(Objects::nonNull);
    }

    /** Closes breakers that no request asks any more. Called about once a second. */
    public void closeUnusedBreakers(long nowNanos) {
        breakers.values().forEach(each -> each.closeIfUnused(nowNanos));
    }

    boolean isOpen(BreakerPolicy policy) {
        Breaker its = breakers.get(policy.name());
        return its != null && its.state() == BreakerState.OPEN;
    }

    private void onBreaker(String name, BreakerState state, String reason) {
        log.atLevel(state == BreakerState.OPEN ? Level.WARN : Level.INFO)
                .log(
                        "function {}: breaker {} lets {} % of the requests pass: {}",
                        function, name, state.percent(), reason);
        observer.onBreaker(function, name, state, reason);
    }
}
