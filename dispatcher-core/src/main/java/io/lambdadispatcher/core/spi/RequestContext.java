package io.lambdadispatcher.core.spi;

import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.FilterEvent;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What the filters of one request know of it. All its filters share it.
 *
 * <p><b>Threading.</b> Only on the client's event loop, except {@link #send} and {@link #report}.
 * The stage of {@link Decision#later} completes anywhere, so read what it needs before.
 */
public interface RequestContext {
    String method();

    /** Returns {@code http} or {@code https}. */
    String scheme();

    /** Returns the path and query as the router and the function will see them. */
    String path();

    /**
     * Replaces path and query. Has no effect on a request that has been passed on.
     *
     * @throws IllegalArgumentException if no HTTP request can have this path
     */
    void setPath(String path);

    /** Returns host and port; empty if the client has named none. */
    String authority();

    /** Returns the headers. Changes have no effect on a request that has been passed on. */
    HeaderFields headers();

    /** Returns whether a body follows the headers. */
    boolean hasBody();

    /**
     * Returns the client's address, which a load balancer may have named; {@code null} for the
     * embedding program.
     */
    @Nullable
    SocketAddress remoteAddress();

    ClientProtocol protocol();

    /** Returns the function that gets the request; {@code null} before the router has run. */
    @Nullable
    String function();

    /**
     * Returns what the policy of the route holds for filters under this type, see {@link
     * io.lambdadispatcher.core.options.TrafficPolicy#extension}; {@code null} = nothing, or the
     * router has not run.
     */
    <T> @Nullable T policy(Class<T> type);

    /**
     * Returns the names, in lower case, of the request headers by which the policy of the route
     * tells clients apart: that of the tenant, and that which chooses the worker. Whoever gives one
     * response to several requests takes only those together that have equal values in them.
     */
    List<String> distinguishingHeaders();

    /**
     * Returns the name, in lower case, of the header with which the worker and the client name
     * their session; {@code null} = there are no such sessions.
     */
    @Nullable
    String sessionHeader();

    /**
     * Returns whether the breaker of the route is open, so that most requests that are passed on
     * now fail at once.
     */
    boolean isBreakerOpen();

    /**
     * Returns how long the client and the route still wait, 0 or more; {@code null} = nothing
     * limits it. The policy of the route counts when the router has run.
     */
    @Nullable
    Duration timeLeft();

    /** Returns what the request's filters tell each other, by names of their own. */
    Map<String, Object> attributes();

    /**
     * Begins a request like this one, for {@link #send}: with its method, path, scheme, host and
     * headers, without its body. Whoever adds a body adds its length.
     *
     * @throws IllegalArgumentException if this is a WebSocket, whose method is CONNECT
     */
    DispatchRequest.Builder copy();

    /**
     * Sends a request of the filter's own, past all filters and the policy's
     * breaker. It is sent after this call, and is one of this request's client unless it names
     * another one, so limits and fair shares count it. Any thread, also after the response has
     * ended.
     *
     * @param function the name of a function
     * @return as {@code Dispatcher.dispatch} does, but the stage fails, too, if nobody can have
     *     such a request or there is no such function
     */
    CompletionStage<DispatchResponse> send(String function, DispatchRequest request);

    /**
     * Passes a copy of this request on, for the filter alone: without a client, a body, and the
     * filters in front of this one. It is sent after this call, and counts in the limits as one of
     * this request's client. Only while the filter decides.
     *
     * @param method of the copy
     * @param follower called later with the copy, whose headers it may change; its {@link
     *     ResponseFilter#outlivesClient} says whether the response is still wanted
     */
    void fork(String method, Function<RequestContext, ResponseFilter> follower);

    /**
     * Tells the observers of the dispatcher, and so its metrics. Any thread, also after the
     * response has ended.
     */
    void report(FilterEvent event);
}
