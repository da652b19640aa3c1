package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.observe.ClientProtocol;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Stands where a client has left whose response a filter still wants, or where there never was one.
 * It takes everything at once. Confined to the event loop of the request.
 */
final class GoneClient implements ResponseSink {
    private final Object key;
    private final @Nullable SocketAddress remoteAddress;
    private final ClientProtocol protocol;
    private @Nullable RequestSink request;

    private GoneClient(
            Object key, @Nullable SocketAddress remoteAddress, ClientProtocol protocol, @Nullable RequestSink request) {
        this.key = key;
        this.remoteAddress = remoteAddress;
        this.protocol = protocol;
        this.request = request;
    }

    /** Takes the place of a client that may serve another request from now on. */
    static GoneClient of(ResponseSink client, Object key, RequestSink request) {
        return new GoneClient(key, client.remoteAddress(), client.protocol(), request);
    }

    /** @param key of the client in whose limits the request counts */
    static GoneClient withoutClient(Object key) {
        return new GoneClient(key, null, ClientProtocol.EMBEDDED, null);
    }

    void request(RequestSink its) {
        request = its;
    }

    @Override
    public Object client(Http2Headers head) {
        return key;
    }

    @Override
    public @Nullable SocketAddress remoteAddress() {
        return remoteAddress;
    }

    @Override
    public ClientProtocol protocol() {
        return protocol;
    }

    @Override
    public boolean isDoneWithHead() {
        return true;
    }

    @Override
    public void onInterim(Http2Headers head) {}

    @Override
    public void onHead(Http2Headers head, boolean end) {}

    @Override
    public void onData(ByteBuf data, boolean end) {
        int bytes = data.readableBytes();
        data.release();
        if (request != null && bytes > 0) {
            request.responseTaken(bytes);
        }
    }

    @Override
    public void onTrailers(Http2Headers trailers) {}

    @Override
    public void onFailure(Failure failure) {}

    @Override
    public void onRequestTaken(int bytes) {}
}
