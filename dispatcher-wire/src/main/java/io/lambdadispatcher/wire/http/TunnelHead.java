package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;

/** The headers of the response to a CONNECT, between a worker and a dispatcher. Any thread. */
public final class TunnelHead {
    /**
     * A worker adds this header to a 2xx response that opens no tunnel: the application has ignored
     * the upgrade, as it may (RFC 9110 section 7.8), and sent an ordinary response.
     */
    public static final AsciiString NOT_SWITCHED = AsciiString.cached("lambda-dispatcher-not-switched");

    private TunnelHead() {}

    /**
     * Returns whether the response opens the tunnel. With any other status than 2xx, it is an
     * ordinary response (RFC 9110 section 9.3.6).
     */
    public static boolean opens(Http2Headers response) {
        return StatusCode.isSuccess(StatusCode.parse(response.status())) && !response.contains(NOT_SWITCHED);
    }
}
