package io.lambdadispatcher.core.internal.ingress.http1;

import io.lambdadispatcher.wire.http.WebSocketKey;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.AsciiString;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An HTTP/1.1 request to speak WebSocket (RFC 6455 section 4.2): what it must be like, and how it
 * is accepted. The key is for this hop only and goes no further; what the two ends agree on,
 * subprotocol and extensions, is theirs. Immutable.
 */
final class WebSocketHandshake {
    static final AsciiString SUPPORTED_VERSION = AsciiString.cached("13");

    private WebSocketHandshake() {}

    /** Why there will be no WebSocket. */
    record Refusal(HttpResponseStatus status, String detail) {}

    /**
     * RFC 9110 section 7.8: any other {@code upgrade} is ignored, and so is one of HTTP/1.0, or one
     * that {@code connection} does not name.
     */
    static boolean isAsked(HttpRequest request) {
        HttpHeaders fields = request.headers();
        return fields.contains(HttpHeaderNames.UPGRADE)
                && request.protocolVersion().equals(HttpVersion.HTTP_1_1)
                && fields.containsValue(HttpHeaderNames.UPGRADE, HttpHeaderValues.WEBSOCKET, true)
                && fields.containsValue(HttpHeaderNames.CONNECTION, HttpHeaderValues.UPGRADE, true);
    }

    /** A handshake has none: what follows its head may be the tunnel's. */
    static boolean hasBody(HttpRequest request) {
        return HttpUtil.isTransferEncodingChunked(request) || HttpUtil.getContentLength(request, 0L) != 0;
    }

    /** @return {@code null}: it is as it must be */
    static @Nullable Refusal verify(HttpRequest request) {
        HttpHeaders fields = request.headers();
        if (!request.method().equals(HttpMethod.GET)) {
            return bad("WebSocket handshake with method " + request.method() + ", expected GET");
        }
        if (hasBody(request)) {
            return bad("WebSocket handshake with a body, expected none");
        }
        List<String> versions = fields.getAll(HttpHeaderNames.SEC_WEBSOCKET_VERSION);
        if (versions.size() != 1 || !SUPPORTED_VERSION.contentEquals(versions.get(0))) {
            return new Refusal(
                    HttpResponseStatus.UPGRADE_REQUIRED,
                    HttpHeaderNames.SEC_WEBSOCKET_VERSION + " " + versions + ", expected " + SUPPORTED_VERSION);
        }
        List<String> keys = fields.getAll(HttpHeaderNames.SEC_WEBSOCKET_KEY);
        return keys.size() == 1 && isKey(keys.get(0))
                ? null
                : bad("WebSocket handshake with " + HttpHeaderNames.SEC_WEBSOCKET_KEY + " " + keys + ", expected "
                        + WebSocketKey.BYTES + " bytes in base64");
    }

    private static boolean isKey(String text) {
        try {
            return Base64.getDecoder().decode(text).length == WebSocketKey.BYTES && text.length() % 4 == 0;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    private static Refusal bad(String detail) {
        return new Refusal(HttpResponseStatus.BAD_REQUEST, detail);
    }

    /** Of a request that {@link #verify} has nothing against. */
    static WebSocketKey key(HttpRequest request) {
        return new WebSocketKey(request.headers().get(HttpHeaderNames.SEC_WEBSOCKET_KEY));
    }
}
