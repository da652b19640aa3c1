package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.policy.Breaker;
import io.lambdadispatcher.core.internal.policy.CanarySteps;
import io.lambdadispatcher.core.internal.policy.ChangeLog;
import io.lambdadispatcher.core.observe.BreakerSnapshot;
import io.lambdadispatcher.core.observe.BreakerState;
import io.lambdadispatcher.core.observe.CanarySnapshot;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.BreakerPolicy;
import io.lambdadispatcher.core.options.CanaryPolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Ticker;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * The filters of one function, and what they share over all event loops. Any thread.
 *
 * <p>The order, from the client to the function, is the order of {@link #around}, read from its
 * last line to its first.
 */
public final class FunctionFilters {
    private static final Logger log = LoggerFactory.getLogger(FunctionFilters.class);

    private final String function;
    private final DispatcherObserver observer;
    private final Shadows shadows;

    /** By the name of the other function. Reloads keep the state. */
    private final Map<String, CanarySteps> canaries = new ConcurrentHashMap<>();

    /** The canary of the function's own policy; empty = none. */
    private volatile String ownCanary = "";

    /** By the name of their policy, of which there are as many as the operator has named. */
    private final Map<String, Breaker> breakers = new ConcurrentHashMap<>();

    private final StoredResponses stored;

    /** @param stored what all functions of the dispatcher share */
    public FunctionFilters(String function, DispatcherObserver observer, StoredResponses stored) {
        this.function = function;
        this.observer = observer;
        this.shadows = new Shadows(function, observer);
        this.stored = stored;
    }

    public String function() {
        return function;
    }

    /**
     * Returns the filters of one event loop around the function.
     *
     * @param others finds other functions on the same event loop, with their filters; {@code null}
     *     = there is no such function. Not called before the first request
     */
    public FunctionOpener around(
            FunctionOpener target, EventLoop loop, Function<String, @Nullable FunctionOpener> others) {
        FunctionOpener filtered = target;
        filtered = new ShadowFilter(filtered, shadows, loop, others);
        filtered = new BreakerFilter(filtered, this, loop, observer);
        filtered = new CacheFilter(filtered, function, loop, stored::store, this::isOpen, observer);
        filtered = new CompressionFilter(filtered, loop, function, observer);
        // Outermost, so that a canary opens no breaker of the function, and leaves nothing stored.
        filtered = new CanaryFilter(filtered, this, loop, others);
        return filtered;
    }

    /**
     * Applies the function's own policy. A canary that it does not name any more is forgotten.
     *
     * @return forgets it again, to be called when no event loop has the earlier policy any more:
     *     until then, a request can bring it back
     */
    public Runnable setPolicy(TrafficPolicy policy) {
        String before = ownCanary;
        CanaryPolicy next = policy.canary();
        ownCanary = next.function();
        Runnable forget = () -> {
            if (!before.equals(ownCanary)) {
                canaries.remove(before);
            }
        };
        forget.run();
        if (!next.isOff()) {
            canary(next).setPolicy(next, nanoTime());
        }
        return forget;
    }

    CanarySteps canary(CanaryPolicy policy) {
        CanarySteps steps = canaries.get(policy.function());
        return steps != null
                ? steps
                : canaries.computeIfAbsent(
                        policy.function(),
                        name -> new CanarySteps(
                                function,
                                policy,
                                new ChangeLog(function, "canary " + name, "function " + function),
                                nanoTime()));
    }

    private static long nanoTime() {
        return Ticker.systemTicker().nanoTime();
    }

    /** Returns the state of the function's canary for a later dispatcher; empty = it has none. */
    public String canaryText() {
        CanarySteps own = canaries.get(ownCanary);
        return own == null ? "" : own.text();
    }

    /** Restores what {@link #canaryText} returned. Call before the first request. */
    public void restoreCanary(String text) {
        canaries.values().forEach(each -> each.restore(text));
    }

    /** Returns the state of the function's canary; {@code null} = it has none. */
    public @Nullable CanarySnapshot canary() {
        CanarySteps own = canaries.get(ownCanary);
        return own == null ? null : own.snapshot();
    }

    /** @return false if the function has no canary that gets requests */
    public boolean stopCanary() {
        return canaries.values().stream().filter(CanarySteps::stop).count() > 0;
    }

    /** @return false if the function has no canary that was stopped */
    public boolean resumeCanary() {
        return canaries.values().stream()
                        .filter(each -> each.resume(nanoTime()))
                        .count()
                > 0;
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

    private boolean isOpen(BreakerPolicy policy) {
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
