package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The {@code sec-websocket-key} of an HTTP/1.1 handshake. The server's {@code sec-websocket-accept}
 * proves that it has understood the request for a WebSocket (RFC 6455 sections 4.1 and 4.2.2). The
 * key is no secret. Immutable.
 */
public record WebSocketKey(CharSequence text) {
    /** The length of a key before base64. */
    public static final int BYTES = 16;

    private static final String SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

    public static WebSocketKey random() {
        byte[] bytes = new byte[BYTES];
        ThreadLocalRandom.current().nextBytes(bytes);
        return new WebSocketKey(Base64.getEncoder().encodeToString(bytes));
    }

    /** Returns whether a response accepts the WebSocket that this key asked for. */
    public boolean isAccepted(HttpHeaders response) {
        return response.containsValue(HttpHeaderNames.UPGRADE, HttpHeaderValues.WEBSOCKET, true)
                && response.containsValue(HttpHeaderNames.CONNECTION, HttpHeaderValues.UPGRADE, true)
                && accept().equals(response.get(HttpHeaderNames.SEC_WEBSOCKET_ACCEPT));
    }

    /** Returns the value of {@code sec-websocket-accept}. */
    public String accept() {
        try {
            byte[] hash =
                    MessageDigest.getInstance("SHA-1").digest((text + SUFFIX).getBytes(StandardCharsets.US_ASCII));
            return Base64.getEncoder().encodeToString(hash);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-1", e);
        }
    }
}
