package io.lambdadispatcher.core.internal.exchange;

import io.netty.handler.codec.http2.Http2Headers;

/** Takes requests from the public side. One per event loop, called on that loop only. */
@FunctionalInterface
public interface ExchangeOpener {
    /**
     * Starts an exchange. {@code response} may be called before this returns, {@link
     * ResponseSink#onFailure} included.
     *
     * @param head of the request with its four pseudo-header fields, hop-by-hop fields removed,
     *     forwarding fields added; not to be changed afterwards, for the request may be sent a
     *     second time
     * @param end the request has no body and no trailers
     */
    RequestSink open(Http2Headers head, boolean end, ResponseSink response);

    /** Fails a request instead of starting an exchange. */
    default RequestSink refuse(Http2Headers head, ResponseSink response, Failure failure) {
        response.onFailure(failure);
        return new DiscardingSink();
    }
}
