package io.lambdadispatcher.worker.handler;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;

/** Takes a body. Called on the event loop; ends with exactly one of {@link #onEnd} and {@link #onFailed}. */
public interface BodyReader {
    /**
     * @param octets never empty; the reader's from now on, to release or to pass on (e.g. to {@link Response#write}): a slice of what
     *     was read from the socket, of which all slices must go before that memory is free
     * @throws Exception fails the request, as from {@link Handler#handle}
     */
    void onData(ByteBuf octets) throws Exception;

    /** @param trailers empty where there were none */
    void onEnd(Http2Headers trailers) throws Exception;

    /** There will be no more, and what came is incomplete. {@link FailureReason#NOT_NEEDED}: the response has ended already. */
    void onFailed(FailureReason code) throws Exception;
}
