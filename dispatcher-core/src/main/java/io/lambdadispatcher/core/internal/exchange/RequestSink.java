package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;

/**
 * Where the public side puts a request after its head. Called on the client's event loop only.
 * Calls after the response or the request has ended are harmless: buffers are released and nothing
 * is sent.
 */
public interface RequestSink {
    /**
     * @param data owned by the sink from here on, whatever happens. Its bytes stay charged to the
     *     client's flow-control window until {@link ResponseSink#onRequestTaken}
     * @param end the request ends here
     */
    void data(ByteBuf data, boolean end);

    /** Ends the request. @param trailers not to be changed afterwards */
    void trailers(Http2Headers trailers);

    /**
     * The client no longer wants the response, or has broken its request off. No call on {@link
     * ResponseSink} follows.
     */
    void cancel(ErrorCode code);

    /**
     * The client has taken this many bytes of response bodies; the worker may send as many more.
     */
    void responseTaken(int bytes);

    /**
     * Returns what is held of the request, in bytes, besides body bytes that have not been taken:
     * its head, and a body that is gathered.
     */
    default long heldBytes() {
        return 0;
    }
}
