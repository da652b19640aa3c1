package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.wire.http.StatusCode;
import io.netty.handler.codec.http2.Http2Headers;

/**
 * Passes the response to an unsafe request on. If it is no error, the stored responses of its
 * target are forgotten before the client knows (RFC 9111 section 4.4).
 */
record InvalidatingSink(ResponseSink outer, Runnable invalidation) implements ForwardingSink {
    @Override
    public void onHead(Http2Headers head, boolean end) {
        int status = StatusCode.parse(head.status());
        if (status >= 200 && status < 400) {
            invalidation.run();
        }
        outer.onHead(head, end);
    }
}
