package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.ExchangeReport;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/** A client that accepts and drops everything. */
public class SilentClient implements ResponseSink {
    /** Returns what the stages in front of a function add to the report of this end. */
    public static ExchangeEnd endOf(ResponseSink atFunction, @Nullable Failure failure) {
        ExchangeReport report = new ExchangeReport("f");
        atFunction.complete(report, failure);
        return report;
    }

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
