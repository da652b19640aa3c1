package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.Requester;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * Stands where a client has left whose response a filter still wants, or where there never was one.
 * It takes everything at once. Confined to the event loop of the request.
 */
final class GoneClient implements ResponseSink {
    private final Requester requester;
    private @Nullable RequestSink request;

    /** @param request of a client that has left; {@code null} = there is none yet */
    GoneClient(Requester requester, @Nullable RequestSink request) {
        this.requester = requester;
        this.request = request;
    }

    void request(RequestSink its) {
        request = its;
    }

    @Override
    public Requester requester() {
        return requester;
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
