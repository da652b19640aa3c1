package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.core.options.ContentEncoding;
import io.lambdadispatcher.wire.http.StatusCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Passes the response to an unsafe request on. If it is no error, the stored responses of its
 * target are forgotten before the client knows (RFC 9111 section 4.4).
 */
record InvalidatingSink(ResponseSink client, Runnable invalidation) implements ResponseSink {
    @Override
    public void onHead(Http2Headers head, boolean end) {
        int status = StatusCode.parse(head.status());
        if (status >= 200 && status < 400) {
            invalidation.run();
        }
        client.onHead(head, end);
    }

    @Override
    public Object client(Http2Headers head) {
        return client.client(head);
    }

    @Override
    public @Nullable SocketAddress remoteAddress() {
        return client.remoteAddress();
    }

    @Override
    public ClientProtocol protocol() {
        return client.protocol();
    }

    @Override
    public @Nullable Exchange takeEndedExchange() {
        return client.takeEndedExchange();
    }

    @Override
    public @Nullable Substitute substitute(int status, @Nullable Failure failure) {
        return client.substitute(status, failure);
    }

    @Override
    public boolean isDoneWithHead() {
        return client.isDoneWithHead();
    }

    @Override
    public @Nullable ContentEncoding contentEncoding() {
        return client.contentEncoding();
    }

    @Override
    public void onSent() {
        client.onSent();
    }

    @Override
    public void onInterim(Http2Headers head) {
        client.onInterim(head);
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        client.onData(data, end);
    }

    @Override
    public void onTrailers(Http2Headers trailers) {
        client.onTrailers(trailers);
    }

    @Override
    public void onFailure(Failure failure) {
        client.onFailure(failure);
    }

    @Override
    public void onRequestTaken(int bytes) {
        client.onRequestTaken(bytes);
    }
}
