package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.wire.http.Methods;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import org.jspecify.annotations.Nullable;

/**
 * The extended CONNECT that asks a worker for a WebSocket, whatever version of HTTP the client uses
 * (RFC 8441 sections 4 and 5). The key and its acceptance belong to one hop and are not passed on.
 */
public final class ExtendedConnect {
    private ExtendedConnect() {}

    /**
     * Changes the headers of a client's request into those for the worker.
     *
     * @return why the request must not be passed on; {@code null} = it can be
     */
    public static @Nullable Failure toConnect(Http2Headers head, HeadRules rules) {
        AsciiString protocol = Http2Headers.PseudoHeaderName.PROTOCOL.value();
        head.method(Methods.CONNECT);
        head.remove(protocol);
        head.remove(HttpHeaderNames.CONTENT_LENGTH);
        head.remove(HttpHeaderNames.EXPECT);
        head.remove(HttpHeaderNames.SEC_WEBSOCKET_KEY);
        head.remove(HttpHeaderNames.SEC_WEBSOCKET_ACCEPT);
        Failure refused = rules.request(head);
        head.set(protocol, HttpHeaderValues.WEBSOCKET);
        return refused;
    }
}
