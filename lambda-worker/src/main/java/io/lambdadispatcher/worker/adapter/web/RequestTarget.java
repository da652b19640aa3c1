package io.lambdadispatcher.worker.adapter.web;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.net.InetSocketAddress;

/** Method, path and authority as the application gets them, checked. */
record RequestTarget(CharSequence method, CharSequence path, CharSequence authority) {
    static final AsciiString PROTOCOL = AsciiString.cached(":protocol");
    private static final AsciiString WEBSOCKET = AsciiString.cached("websocket");
    private static final AsciiString CONNECT = AsciiString.cached("CONNECT");

    /** An extended CONNECT (RFC 8441 section 4) for a WebSocket. */
    static boolean isWebSocket(Http2Headers head) {
        CharSequence protocol = head.get(PROTOCOL);
        return protocol != null && AsciiString.contentEqualsIgnoreCase(protocol, WEBSOCKET) && isConnect(head);
    }

    static boolean isConnect(Http2Headers head) {
        CharSequence method = head.method();
        return method != null && AsciiString.contentEquals(method, CONNECT);
    }

    static RequestTarget of(Http2Headers head, WebConfig config) throws BadMessageException {
        CharSequence method = head.method();
        CharSequence path = head.path();
        CharSequence authority = authority(head, config.address());
        if (method == null || !Fields.isToken(method)) {
            throw new BadMessageException("malformed method");
        }
        if (path == null || !Fields.isVisible(path) || path.charAt(0) != '/' && !isAsterisk(path)) {
            throw new BadMessageException("malformed path");
        }
        if (!Fields.isVisible(authority) || holdsDelimiter(authority)) {
            throw new BadMessageException("malformed authority");
        }
        return new RequestTarget(method, withoutBase(path, config.basePath()), authority);
    }

    /** An HTTP/1.0 client need not say it, nor an event. */
    private static CharSequence authority(Http2Headers head, InetSocketAddress app) {
        CharSequence said = head.authority() == null ? head.get(HttpHeaderNames.HOST) : head.authority();
        return said == null ? app.getHostString() + ":" + app.getPort() : said;
    }

    private static boolean isAsterisk(CharSequence path) {
        return path.length() == 1 && path.charAt(0) == '*';
    }

    private static boolean holdsDelimiter(CharSequence authority) {
        for (int i = 0; i < authority.length(); i++) {
            char c = authority.charAt(i);
            if (c == '/' || c == '?' || c == '#' || c == '@' || c == '\\') {
                return true;
            }
        }
        return false;
    }

    /** Whole segments only: /orders is no base of /orders2. */
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
