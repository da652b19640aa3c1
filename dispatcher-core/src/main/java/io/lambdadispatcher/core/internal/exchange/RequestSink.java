package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;

/**
 * Receives a request after its headers. Called only on the client's event loop. Calls after the end
 * of the request or the response send nothing and release their buffers.
 */
public interface RequestSink {
    /**
     * @param data owned by the sink in all cases. Its bytes count in the client's flow-control
     *     window until {@link ResponseSink#onRequestTaken}
     * @param end whether the request ends here
     */
    void data(ByteBuf data, boolean end);

    /**
     * Ends the request.
     *
     * @param trailers must not be changed afterwards
     */
    void trailers(Http2Headers trailers);

    /**
     * The client no longer wants the response, or has reset its request. No call of {@link
     * ResponseSink} follows.
     *
     * @param code {@link ErrorCode#INTERNAL} if it is not the client's wish: a filter could not
     *     pass the response on, and tells the client itself
     */
    void cancel(ErrorCode code);

    /**
     * The client has read this many bytes of the response body. The worker may send as many more.
     */
    void responseTaken(int bytes);

    /**
     * The client has read this many bytes of the response body after the exchange has ended. They
     * say nothing to a worker stream, which may carry another exchange by now.
     */
    default void endedResponseTaken(int bytes) {}

    /**
     * The exchange has ended, and its {@link ResponseSink} now serves another request. It must not
     * be called any more.
     */
    default void detach() {}

    /**
     * Returns the memory that is held for the request in bytes, without body bytes that still count
     * in the client's window: its headers, and a body that is gathered.
     */
    default long heldBytes() {
        return 0;
    }
}
