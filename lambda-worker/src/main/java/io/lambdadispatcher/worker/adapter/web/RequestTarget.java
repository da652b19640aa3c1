package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.Methods;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.net.InetSocketAddress;

/** The method, path and authority of the request to the application, after checks. */
record RequestTarget(CharSequence method, CharSequence path, CharSequence authority) {
    static final AsciiString PROTOCOL = AsciiString.cached(":protocol");
    private static final AsciiString WEBSOCKET = AsciiString.cached("websocket");

    /** Returns whether the request is an extended CONNECT (RFC 8441 section 4) for a WebSocket. */
    static boolean isWebSocket(Http2Headers head) {
        CharSequence protocol = head.get(PROTOCOL);
        return protocol != null && AsciiString.contentEqualsIgnoreCase(protocol, WEBSOCKET) && isConnect(head);
    }

    static boolean isConnect(Http2Headers head) {
        return Methods.isConnect(head.method());
    }

    static RequestTarget of(Http2Headers head, Origin origin, WebConfig config) throws BadMessageException {
        CharSequence method = head.method();
        CharSequence path = head.path();
        CharSequence authority = authority(head, config.address);
        if (method == null || !HeaderSyntax.isToken(method)) {
            throw new BadMessageException("malformed method");
        }
        if (path == null || !HeaderSyntax.isPath(path, method)) {
            throw new BadMessageException("malformed path");
        }
        if (authority.length() > HeaderSyntax.MOST_AUTHORITY_CHARS) {
            throw new BadMessageException("authority of " + authority.length() + " characters, expected at most "
                    + HeaderSyntax.MOST_AUTHORITY_CHARS);
        }
        if (!HeaderSyntax.isAuthority(authority)) {
            throw new BadMessageException("malformed authority");
        }
        // The paths of requests without a client are settings: they are the application's own.
        String base = origin == Origin.EVENT ? "" : config.basePath;
        return new RequestTarget(method, withoutBase(path, base), authority);
    }

    /**
     * Returns the request's authority, or the application's address if there is none. HTTP/1.0
     * requests and events may lack it.
     */
    private static CharSequence authority(Http2Headers head, InetSocketAddress app) {
        CharSequence said = head.authority() == null ? head.get(HttpHeaderNames.HOST) : head.authority();
        return said == null ? app.getHostString() + ":" + app.getPort() : said;
    }

    /** Removes the base path if it matches whole segments: /orders is not a base of /orders2. */
    static CharSequence withoutBase(CharSequence path, String base) {
        int length = base.length();
        if (length == 0 || path.length() < length || !AsciiString.regionMatches(path, false, 0, base, 0, length)) {
            return path;
        }
        if (path.length() == length) {
            return "/";
        }
        CharSequence rest = path.subSequence(length, path.length());
        return switch (rest.charAt(0)) {
            case '/' -> rest;
            case '?' -> "/" + rest;
            default -> path;
        };
    }
}
