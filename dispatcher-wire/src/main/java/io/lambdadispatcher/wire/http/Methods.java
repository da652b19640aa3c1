package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import org.jspecify.annotations.Nullable;

/** What a request's method says about the message. Methods are case-sensitive. Any thread. */
public final class Methods {
    public static final AsciiString HEAD = HttpMethod.HEAD.asciiName();
    public static final AsciiString CONNECT = HttpMethod.CONNECT.asciiName();

    private static final NameSet IDEMPOTENT = NameSet.of("GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE");

    private static final NameSet SAFE = NameSet.of("GET", "HEAD", "OPTIONS", "TRACE");

    private Methods() {}

    /** Returns whether the response has no body. */
    public static boolean isHead(@Nullable CharSequence method) {
        return AsciiString.contentEquals(HEAD, method);
    }

    /** Returns whether the request asks for a tunnel. */
    public static boolean isConnect(@Nullable CharSequence method) {
        return AsciiString.contentEquals(CONNECT, method);
    }

    /** Returns whether the request only reads (RFC 9110 section 9.2.1). */
    public static boolean isSafe(CharSequence method) {
        return SAFE.contains(method);
    }

    /**
     * Returns whether a browser asks in advance whether a page may send a request (Fetch Standard,
     * section 3.3.2).
     */
    public static boolean isPreflight(Http2Headers request) {
        return HttpMethod.OPTIONS.asciiName().contentEquals(request.method())
                && request.contains(HttpHeaderNames.ACCESS_CONTROL_REQUEST_METHOD)
                && request.contains(HttpHeaderNames.ORIGIN);
    }

    /**
     * Returns whether sending the request twice has the same effect as sending it once (RFC 9110
     * section 9.2.2).
     */
    public static boolean isIdempotent(CharSequence method) {
        return IDEMPOTENT.contains(method);
    }
}
