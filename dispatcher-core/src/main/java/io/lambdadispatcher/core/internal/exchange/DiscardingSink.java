package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;

/**
 * Discards the rest of a request that has already been answered. It has no state, so any thread can
 * use it.
 */
public class DiscardingSink implements RequestSink {
    @Override
    public void data(ByteBuf data, boolean end) {
        data.release();
    }

    @Override
    public void trailers(Http2Headers trailers) {}

    @Override
    public void cancel(ErrorCode code) {}

    @Override
    public void responseTaken(int bytes) {}
}
