package io.lambdadispatcher.core.internal.inprocess;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;

/**
 * A request that the handler serves. It answers with the methods of its {@link InProcessStream},
 * and the last one is {@link InProcessStream#onReturned}. Called on the stream's event loop.
 */
interface InProcessCall {
    /** Calls the handler. */
    void start();

    /**
     * @param data owned by the call. Its bytes count in the client's window until {@link
     *     InProcessStream#onRequestTaken}
     */
    void onRequestData(ByteBuf data);

    /** @param trailers empty if there are none */
    void onRequestEnd(Http2Headers trailers);

    /** The client has taken bytes of the response. */
    void onResponseTaken(int bytes);

    /** Nobody needs the response. The handler should return soon. */
    void cancel();

    /** Creates the call of one request. Any event loop. */
    @FunctionalInterface
    interface Factory {
        /**
         * @param head is the call's own
         * @param timeoutMillis remaining time of the request; 0 means no limit
         */
        InProcessCall create(InProcessStream stream, Http2Headers head, boolean bodyless, int timeoutMillis);
    }
}
