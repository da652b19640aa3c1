package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.wire.http.Methods;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;

/**
 * The extended CONNECT by which a worker is asked for a WebSocket, whatever HTTP the client speaks
 * (RFC 8441 sections 4 and 5). The key and its acceptance belong to one hop only and go no further.
 */
public final class ExtendedConnect {
    private ExtendedConnect() {}

    /** Changes the head of a client's request into the one that its worker gets. */
    public static void toConnect(Http2Headers head, HeadRules rules) {
        AsciiString protocol = Http2Headers.PseudoHeaderName.PROTOCOL.value();
        head.method(Methods.CONNECT);
        head.remove(protocol);
        head.remove(HttpHeaderNames.CONTENT_LENGTH);
        head.remove(HttpHeaderNames.EXPECT);
        head.remove(HttpHeaderNames.SEC_WEBSOCKET_KEY);
        head.remove(HttpHeaderNames.SEC_WEBSOCKET_ACCEPT);
        rules.request(head);
        head.set(protocol, HttpHeaderValues.WEBSOCKET);
    }
}
