package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;

/** A client that accepts and drops everything. */
public class SilentClient implements ResponseSink {
    @Override
    public void onInterim(Http2Headers head) {}

    @Override
    public void onHead(Http2Headers head, boolean end) {}

    @Override
    public void onData(ByteBuf data, boolean end) {
        data.release();
    }

    @Override
    public void onTrailers(Http2Headers trailers) {}

    @Override
    public void onFailure(Failure failure) {}

    @Override
    public void onRequestTaken(int bytes) {}
}
