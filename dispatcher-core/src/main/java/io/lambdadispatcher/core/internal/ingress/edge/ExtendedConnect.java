package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.wire.http.Methods;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;

/**
 * The extended CONNECT by which a worker is asked for a WebSocket, whatever HTTP the client speaks (RFC 8441 sections 4 and 5). The key and its
 * acceptance belong to one hop only and go no further.
 */
public final class ExtendedConnect {
    /** The value of {@code :protocol}, and of HTTP/1.1's {@code upgrade}. */
    public static final AsciiString WEBSOCKET = AsciiString.cached("websocket");

    public static final AsciiString KEY = AsciiString.cached("sec-websocket-key");
    public static final AsciiString ACCEPT = AsciiString.cached("sec-websocket-accept");

    private ExtendedConnect() {}

    /** Changes the head of a client's request into the one that its worker gets. */
    public static void toConnect(Http2Headers head, HeadRules rules) {
        AsciiString protocol = Http2Headers.PseudoHeaderName.PROTOCOL.value();
        head.method(Methods.CONNECT);
        head.remove(protocol);
        head.remove(HttpHeaderNames.CONTENT_LENGTH);
        head.remove(HttpHeaderNames.EXPECT);
        head.remove(KEY);
        head.remove(ACCEPT);
        rules.request(head);
        head.set(protocol, WEBSOCKET);
    }
}
