package io.lambdadispatcher.worker.adapter.web;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.concurrent.ThreadLocalRandom;

/** What proves that a server has understood the request for a WebSocket (RFC 6455 sections 4.1 and 4.2.2). It is no secret. */
record WebSocketKey(AsciiString text) {
    private static final int KEY_BYTES = 16;
    private static final String SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

    static WebSocketKey random() {
        byte[] octets = new byte[KEY_BYTES];
        ThreadLocalRandom.current().nextBytes(octets);
        return new WebSocketKey(AsciiString.of(Base64.getEncoder().encodeToString(octets)));
    }

    boolean isAccepted(HttpHeaders response) {
        return response.containsValue(HttpHeaderNames.UPGRADE, HttpHeaderValues.WEBSOCKET, true)
                && response.containsValue(HttpHeaderNames.CONNECTION, HttpHeaderValues.UPGRADE, true)
                && accept().equals(response.get(HttpHeaderNames.SEC_WEBSOCKET_ACCEPT));
    }

    String accept() {
        try {
            byte[] hash =
                    MessageDigest.getInstance("SHA-1").digest((text + SUFFIX).getBytes(StandardCharsets.US_ASCII));
            return Base64.getEncoder().encodeToString(hash);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("no SHA-1", e);
        }
    }
}
