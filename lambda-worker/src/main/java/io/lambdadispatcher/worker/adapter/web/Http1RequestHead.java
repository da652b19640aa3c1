package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.HopByHop;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Writes the request line and headers of one request as HTTP/1.1 (RFC 9112 section 3), from their
 * HTTP/2 form. Every byte is checked here again, because a line break within a header would be a
 * second request to the application. Confined to an event loop.
 */
final class Http1RequestHead {
    /** How the application learns where the body ends. */
    enum Body {
        NONE,
        LENGTH,
        CHUNKED,
        /** The body ends with the connection. */
        TUNNEL
    }

    private static final AsciiString LINE_END = AsciiString.cached("\r\n");
    private static final AsciiString COLON = AsciiString.cached(": ");
    private static final AsciiString VERSION_AND_HOST = AsciiString.cached(" HTTP/1.1\r\nhost: ");
    private static final AsciiString CHUNKED = AsciiString.cached("transfer-encoding: chunked\r\n");
    private static final AsciiString NO_CONTENT = AsciiString.cached("content-length: 0\r\n");
    private static final AsciiString TE = AsciiString.cached("te: trailers\r\nconnection: te\r\n");
    private static final AsciiString UPGRADE =
            AsciiString.cached("connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-key: ");
    private static final AsciiString WEBSOCKET_VERSION = AsciiString.cached("sec-websocket-version: 13\r\n");
    private static final AsciiString GET = HttpMethod.GET.asciiName();
    private static final AsciiString CONTINUE = AsciiString.cached("100-continue");
    private static final AsciiString COOKIE_PAIRS = AsciiString.cached("; ");

    private final ByteBuf out;
    private final Http2Headers head;
    private final Origin origin;
    private final WebConfig config;
    private final @Nullable CharSequence webSocketKey;
    private final ContentLength length = new ContentLength();

    private boolean teTrailers;
    private boolean cookiesWritten;
    private boolean expectsContinue;
    private Body body = Body.NONE;

    /**
     * @param out receives the text; owned and released by the caller
     * @param webSocketKey {@code null} for an ordinary request
     */
    Http1RequestHead(
            ByteBuf out, Http2Headers head, Origin origin, WebConfig config, @Nullable CharSequence webSocketKey) {
        this.out = out;
        this.head = head;
        this.origin = origin;
        this.config = config;
        this.webSocketKey = webSocketKey;
    }

    Body body() {
        return body;
    }

    /** Returns a counter that expects the body that the headers declare. */
    ContentLength length() {
        return length;
    }

    /**
     * Returns whether the client waits for a 100 response before it sends its body (RFC 9110
     * section 10.1.1).
     */
    boolean expectsContinue() {
        return expectsContinue;
    }

    /** @param bodyless whether the request ends with its headers */
    void write(boolean bodyless) throws BadMessageException {
        RequestTarget target = RequestTarget.of(head, origin, config);
        CharSequence method = webSocketKey == null ? target.method() : GET;
        copy(method);
        out.writeByte(' ');
        copy(target.path());
        copy(VERSION_AND_HOST);
        copy(target.authority());
        copy(LINE_END);
        for (Map.Entry<CharSequence, CharSequence> field : head) {
            if (!AppHeaders.isPseudo(field.getKey())) {
                writeField(field.getKey(), field.getValue(), bodyless);
            }
        }
        if (webSocketKey != null) {
            writeUpgrade(webSocketKey);
        } else {
            writeFraming(method, bodyless);
        }
        if (teTrailers) {
            copy(TE);
        }
        copy(LINE_END);
    }

    private void writeField(CharSequence name, CharSequence value, boolean bodyless) throws BadMessageException {
        AppHeaders.verify(name, value);
        if (HopByHop.isDroppedFromRequest(name, value) || is(name, HttpHeaderNames.HOST) || !origin.mayHave(name)) {
            return;
        }
        if (is(name, HttpHeaderNames.CONTENT_LENGTH)) {
            return; // written with the rest of the framing
        }
        if (is(name, HttpHeaderNames.TE)) {
            teTrailers = true;
        } else if (is(name, HttpHeaderNames.COOKIE)) {
            writeCookies();
        } else if (is(name, HttpHeaderNames.EXPECT)) {
            expectsContinue = !bodyless && AsciiString.contentEqualsIgnoreCase(value, CONTINUE);
            if (expectsContinue) {
                line(name, value);
            }
        } else if (!isOfWebSocketHop(name)) {
            writeOther(name, value);
        }
    }

    /**
     * Writes all cookies as one header. HTTP/2 may split them, HTTP/1.1 may not (RFC 9113 section
     * 8.2.3).
     */
    private void writeCookies() throws BadMessageException {
        if (cookiesWritten) {
            return;
        }
        cookiesWritten = true;
        List<CharSequence> crumbs = head.getAll(HttpHeaderNames.COOKIE);
        copy(HttpHeaderNames.COOKIE);
        copy(COLON);
        for (int i = 0; i < crumbs.size(); i++) {
            AppHeaders.verify(HttpHeaderNames.COOKIE, crumbs.get(i));
            if (i > 0) {
                copy(COOKIE_PAIRS);
            }
            copy(crumbs.get(i));
        }
        copy(LINE_END);
    }

    /**
     * Returns whether the header belongs to one hop: each HTTP/1.1 hop of a WebSocket has its own
     * key.
     */
    private boolean isOfWebSocketHop(CharSequence name) {
        return webSocketKey != null
                && (is(name, HttpHeaderNames.SEC_WEBSOCKET_KEY) || is(name, HttpHeaderNames.SEC_WEBSOCKET_ACCEPT));
    }

    private void writeOther(CharSequence name, CharSequence value) {
        AsciiString source = config.authorizationSource;
        if (source == null || !head.contains(source)) {
            line(name, value);
        } else if (is(name, source)) {
            line(HttpHeaderNames.AUTHORIZATION, value);
        } else if (!is(name, HttpHeaderNames.AUTHORIZATION)) {
            line(name, value);
        }
    }

    private void writeUpgrade(CharSequence key) {
        body = Body.TUNNEL;
        copy(UPGRADE);
        copy(key);
        copy(LINE_END);
        if (!head.contains(HttpHeaderNames.SEC_WEBSOCKET_VERSION)) {
            copy(WEBSOCKET_VERSION);
        }
    }

    private void writeFraming(CharSequence method, boolean bodyless) throws BadMessageException {
        AppHeaders.expectBody(length, head, bodyless);
        CharSequence declared = head.get(HttpHeaderNames.CONTENT_LENGTH);
        if (declared != null) {
            body = bodyless ? Body.NONE : Body.LENGTH;
            line(HttpHeaderNames.CONTENT_LENGTH, declared);
        } else if (!bodyless) {
            body = Body.CHUNKED;
            copy(CHUNKED);
        } else if (usuallyHasBody(method)) {
            copy(NO_CONTENT);
        }
    }

    /** RFC 9110 section 8.6: requests with these methods declare an empty body. */
    private static boolean usuallyHasBody(CharSequence method) {
        return is(method, "POST") || is(method, "PUT") || is(method, "PATCH");
    }

    private static boolean is(CharSequence one, CharSequence other) {
        return AsciiString.contentEquals(one, other);
    }

    private void line(CharSequence name, CharSequence value) {
        copy(name);
        copy(COLON);
        copy(value);
        copy(LINE_END);
    }

    private void copy(CharSequence text) {
        if (text instanceof AsciiString ascii) {
            out.writeBytes(ascii.array(), ascii.arrayOffset(), ascii.length());
        } else {
            out.writeCharSequence(text, StandardCharsets.ISO_8859_1);
        }
    }

    /** @param out owned and released by the caller */
    static void writeTrailers(ByteBuf out, Http2Headers trailers, Origin origin) throws BadMessageException {
        out.writeCharSequence("0\r\n", StandardCharsets.US_ASCII);
        for (Map.Entry<CharSequence, CharSequence> field : AppHeaders.trailers(trailers, origin)) {
            out.writeCharSequence(field.getKey() + ": " + field.getValue() + "\r\n", StandardCharsets.ISO_8859_1);
        }
        out.writeCharSequence(LINE_END, StandardCharsets.US_ASCII);
    }
}
