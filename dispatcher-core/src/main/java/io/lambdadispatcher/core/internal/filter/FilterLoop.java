package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.netty.channel.EventLoop;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionStage;

/**
 * The program's filters on one event loop: what they need of it, and the requests about which they
 * have not decided yet. Confined to the event loop, except {@link #send}.
 */
public final class FilterLoop {
    /** Sends a request past all filters, never during the call. Any thread. */
    public interface Sender {
        /** @param client whose request it is, if it names no client */
        CompletionStage<DispatchResponse> send(String function, DispatchRequest request, Object client);
    }

    private final EventLoop loop;
    private final DispatcherObserver observer;
    private final Sender sender;
    private final Set<FilteredRequest> undecided = new LinkedHashSet<>();

    public FilterLoop(EventLoop loop, DispatcherObserver observer, Sender sender) {
        this.loop = loop;
        this.observer = observer;
        this.sender = sender;
    }

    EventLoop loop() {
        return loop;
    }

    DispatcherObserver observer() {
        return observer;
    }

    CompletionStage<DispatchResponse> send(String function, DispatchRequest request, Object client) {
        return sender.send(function, request, client);
    }

    void onUndecided(FilteredRequest request) {
        undecided.add(request);
    }

    void onDecided(FilteredRequest request) {
        undecided.remove(request);
    }

    /** Returns whether the filters have decided about all requests. */
    public boolean isQuiet() {
        return undecided.isEmpty();
    }

    /** Fails the requests about which they have not decided. */
    public void failAll(Failure failure) {
        List.copyOf(undecided).forEach(request -> request.fail(failure));
    }
}
