package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.options.TrafficPolicy;
import io.netty.handler.codec.http2.Http2Headers;

/** Takes the requests of one function. There is one for each event loop, called only there. */
public interface FunctionOpener extends ExchangeOpener {
    @Override
    default RequestSink open(Http2Headers head, boolean end, ResponseSink response) {
        return open(head, end, response, policy());
    }

    /**
     * Starts an exchange as {@link ExchangeOpener#open} does.
     *
     * @param policy the policy of the request's route, or {@link #policy} if the route has none
     */
    RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy);

    /** Returns whether the policy's breaker is open, so that most requests fail at once. */
    default boolean isBreakerOpen(TrafficPolicy policy) {
        return false;
    }

    /** Returns the function's own policy. */
    TrafficPolicy policy();
}
