package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import org.jspecify.annotations.Nullable;

/**
 * What the dispatcher knows about gRPC over HTTP/2: both sides of a call can pause for a long time.
 */
public final class Grpc {
    private static final AsciiString CONTENT_TYPE = AsciiString.cached("application/grpc");

    private Grpc() {}

    /** Returns whether a request with these headers is a gRPC call. */
    public static boolean isCall(Http2Headers request) {
        @Nullable CharSequence type = request.get(HttpHeaderNames.CONTENT_TYPE);
        return type != null && AsciiString.regionMatches(type, true, 0, CONTENT_TYPE, 0, CONTENT_TYPE.length());
    }
}
