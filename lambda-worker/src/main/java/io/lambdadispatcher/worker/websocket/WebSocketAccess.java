package io.lambdadispatcher.worker.websocket;

import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.TextAnswer;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.exchange.TextAnswers;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.List;

/**
 * Completes the handshake of a WebSocket over HTTP/2 (RFC 8441 section 5), which checks the version
 * and selects the subprotocol. There is no key. Confined to the event loop.
 */
record WebSocketAccess(WebSocketHandler handler, WebSocketOptions options) implements Handler {
    private static final AsciiString PROTOCOL = AsciiString.cached(":protocol");
    private static final AsciiString VERSION = AsciiString.cached("13");

    @Override
    public boolean servesTunnels() {
        return true;
    }

    @Override
    public Object implementation() {
        return handler;
    }

    @Override
    public void handle(Request request, Response response) {
        Http2Headers head = request.headers();
        if (!isWebSocket(head)) {
            refuse(request, response, "expected a WebSocket handshake of version 13");
            return;
        }
        String subprotocol = subprotocol(head);
        Http2Headers answer = new DefaultHttp2Headers(false).status("200");
        if (!subprotocol.isEmpty()) {
            answer.set(HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL, subprotocol);
        }
        new WebSocketConnection(request, response, options, subprotocol, handler.interceptor()).open(handler, answer);
    }

    private static boolean isWebSocket(Http2Headers head) {
        CharSequence protocol = head.get(PROTOCOL);
        CharSequence version = head.get(HttpHeaderNames.SEC_WEBSOCKET_VERSION);
        return Methods.isConnect(head.method())
                && protocol != null
                && AsciiString.contentEqualsIgnoreCase("websocket", protocol)
                && version != null
                && VERSION.contentEquals(version);
    }

    private String subprotocol(Http2Headers head) {
        List<String> offered = new ArrayList<>();
        for (CharSequence field : head.getAll(HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL)) {
            for (String name : field.toString().split(",")) {
                offered.add(name.trim());
            }
        }
        return options.subprotocols().stream()
                .filter(offered::contains)
                .findFirst()
                .orElse("");
    }

    /** Rejects the request. RFC 6455 section 4.4: the response contains the supported version. */
    private static void refuse(Request request, Response response, String line) {
        TextAnswer answer = TextAnswer.of(ByteBufAllocator.DEFAULT, HttpResponseStatus.UPGRADE_REQUIRED, line);
        answer.head().add(HttpHeaderNames.SEC_WEBSOCKET_VERSION, VERSION);
        TextAnswers.send(request, response, answer);
    }
}
