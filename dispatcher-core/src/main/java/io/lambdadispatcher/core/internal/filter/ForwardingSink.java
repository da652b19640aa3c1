package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.ExchangeReport;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.Requester;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * Passes all calls on to the client's side. A filter implements what it changes. So a method that
 * is added to {@link ResponseSink} goes through all filters, if it is added here. Buffers belong to
 * {@link #outer} when it receives them. Client's event loop only.
 */
interface ForwardingSink extends ResponseSink {
    /** Returns the sink that the filter was opened with. */
    ResponseSink outer();

    @Override
    default Requester requester() {
        return outer().requester();
    }

    @Override
    default void complete(ExchangeReport report, @Nullable Failure failure) {
        outer().complete(report, failure);
    }

    @Override
    default void onSent() {
        outer().onSent();
    }

    @Override
    default void onInterim(Http2Headers head) {
        outer().onInterim(head);
    }

    @Override
    default boolean isDoneWithHead() {
        return outer().isDoneWithHead();
    }

    @Override
    default void onHead(Http2Headers head, boolean end) {
        outer().onHead(head, end);
    }

    @Override
    default void onData(ByteBuf data, boolean end) {
        outer().onData(data, end);
    }

    @Override
    default void onTrailers(Http2Headers trailers) {
        outer().onTrailers(trailers);
    }

    @Override
    default void onFailure(Failure failure) {
        outer().onFailure(failure);
    }

    @Override
    default void onRequestTaken(int bytes) {
        outer().onRequestTaken(bytes);
    }
}
