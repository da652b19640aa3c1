package io.lambdadispatcher.core.internal.ingress.http1;

import io.lambdadispatcher.core.internal.ingress.edge.Rejection;
import io.lambdadispatcher.wire.http.WebSocketKey;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.AsciiString;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Detects and checks HTTP/1.1 requests for a WebSocket (RFC 6455 section 4.2). The key belongs to
 * this hop and is not passed on. The client and the worker negotiate subprotocol and extensions.
 */
final class WebSocketHandshake {
    static final AsciiString SUPPORTED_VERSION = AsciiString.cached("13");

    private WebSocketHandshake() {}

    /**
     * Returns whether a request asks for a WebSocket: with HTTP/1.1, {@code upgrade: websocket} and
     * {@code connection: upgrade} (RFC 9110 section 7.8).
     */
    static boolean isAsked(HttpRequest request) {
        HttpHeaders fields = request.headers();
        return fields.contains(HttpHeaderNames.UPGRADE)
                && request.protocolVersion().equals(HttpVersion.HTTP_1_1)
                && fields.containsValue(HttpHeaderNames.UPGRADE, HttpHeaderValues.WEBSOCKET, true)
                && fields.containsValue(HttpHeaderNames.CONNECTION, HttpHeaderValues.UPGRADE, true);
    }

    /**
     * Returns whether a request has a body. A handshake must not have one, because bytes behind its
     * headers belong to the tunnel.
     */
    static boolean hasBody(HttpRequest request) {
        return request.headers().contains(HttpHeaderNames.TRANSFER_ENCODING)
                || !"0".equals(request.headers().get(HttpHeaderNames.CONTENT_LENGTH, "0"));
    }

    /** @return {@code null} if the handshake is valid */
    static @Nullable Rejection verify(HttpRequest request) {
        HttpHeaders fields = request.headers();
        if (!request.method().equals(HttpMethod.GET)) {
            return Rejection.badRequest("WebSocket handshake with method " + request.method() + ", expected GET");
        }
        if (hasBody(request)) {
            return Rejection.badRequest("WebSocket handshake with a body, expected none");
        }
        List<String> versions = fields.getAll(HttpHeaderNames.SEC_WEBSOCKET_VERSION);
        if (versions.size() != 1 || !SUPPORTED_VERSION.contentEquals(versions.get(0))) {
            return new Rejection(
                    HttpResponseStatus.UPGRADE_REQUIRED,
                    HttpHeaderNames.SEC_WEBSOCKET_VERSION + " " + versions + ", expected " + SUPPORTED_VERSION);
        }
        List<String> keys = fields.getAll(HttpHeaderNames.SEC_WEBSOCKET_KEY);
        return keys.size() == 1 && isKey(keys.get(0))
                ? null
                : Rejection.badRequest("WebSocket handshake with " + HttpHeaderNames.SEC_WEBSOCKET_KEY + " " + keys
                        + ", expected " + WebSocketKey.BYTES + " bytes in base64");
    }

    private static boolean isKey(String text) {
        try {
            return Base64.getDecoder().decode(text).length == WebSocketKey.BYTES && text.length() % 4 == 0;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    /** Returns the key of a request that {@link #verify} accepts. */
    static WebSocketKey key(HttpRequest request) {
        return new WebSocketKey(request.headers().get(HttpHeaderNames.SEC_WEBSOCKET_KEY));
    }
}
