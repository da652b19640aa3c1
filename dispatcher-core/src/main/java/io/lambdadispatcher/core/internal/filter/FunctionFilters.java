package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.netty.channel.EventLoop;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The filters of one function, and what they share over all event loops. Any thread.
 *
 * <p>The order, from the client to the function, is the order of {@link #around}, read from its
 * last line to its first.
 */
public final class FunctionFilters {
    private final String function;
    private final DispatcherObserver observer;
    private final StoredResponses stored;

    /** @param stored what all functions of the dispatcher share */
    public FunctionFilters(String function, DispatcherObserver observer, StoredResponses stored) {
        this.function = function;
        this.observer = observer;
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
        filtered = new CacheFilter(filtered, function, loop, stored::store, observer);
        return filtered;
    }
}
