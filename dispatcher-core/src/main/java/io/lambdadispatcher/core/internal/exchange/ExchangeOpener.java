package io.lambdadispatcher.core.internal.exchange;

import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/** Takes requests from the clients' side. There is one for each event loop, called only there. */
@FunctionalInterface
public interface ExchangeOpener {
    /**
     * Starts an exchange. {@code response} can be called before this returns, including {@link
     * ResponseSink#onFailure}.
     *
     * @param head request headers with the four pseudo-headers, without hop-by-hop headers, with
     *     forwarding headers. They must not be changed afterwards, because the request can be sent
     *     a second time
     * @param end whether the request has no body and no trailers
     */
    RequestSink open(Http2Headers head, boolean end, ResponseSink response);

    /**
     * Starts an exchange, or fails the request.
     *
     * @param refused why the request is not passed on; {@code null} = it is
     */
    default RequestSink openUnless(@Nullable Failure refused, Http2Headers head, boolean end, ResponseSink response) {
        return refused == null ? open(head, end, response) : refuse(head, response, refused);
    }

    /** Fails a request instead of starting an exchange. */
    default RequestSink refuse(Http2Headers head, ResponseSink response, Failure failure) {
        response.onFailure(failure);
        return new DiscardingSink();
    }
}
