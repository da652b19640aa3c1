package io.lambdadispatcher.worker.handler;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;

/**
 * Receives the body of a request in parts. The last call is either {@link #onEnd} or {@link
 * #onFailed}.
 *
 * <p><b>Threading.</b> Called on the event loop of the request, which it must not block.
 */
public interface BodyReader {
    /**
     * Receives the next bytes of the body.
     *
     * @param data never empty. The reader must release it or pass it on, for example to {@link
     *     Response#write}. It is a slice of a larger buffer, whose memory is free when all slices
     *     are released
     * @throws Exception fails the request, as an exception from {@link Handler#handle} does
     */
    void onData(ByteBuf data) throws Exception;

    /**
     * The body is complete.
     *
     * @param trailers empty if there are none
     */
    void onEnd(Http2Headers trailers) throws Exception;

    /**
     * The body will not be complete. With {@link FailureReason#NOT_NEEDED}, the response has ended
     * before the body.
     */
    void onFailed(FailureReason code) throws Exception;
}
