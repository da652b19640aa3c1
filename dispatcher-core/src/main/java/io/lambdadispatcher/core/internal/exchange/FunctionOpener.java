package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.options.TrafficPolicy;
import io.netty.handler.codec.http2.Http2Headers;

/** Takes the requests of one function. There is one for each event loop, called only there. */
public interface FunctionOpener extends ExchangeOpener {
    /**
     * Starts an exchange as {@link ExchangeOpener#open} does, with the policy of its route instead
     * of the function's.
     */
    RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy);
}
