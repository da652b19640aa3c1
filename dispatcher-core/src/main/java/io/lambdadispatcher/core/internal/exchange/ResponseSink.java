package io.lambdadispatcher.core.internal.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * Receives the response of a request on the client's event loop: {@code onInterim* onHead onData*
 * onTrailers?}, or {@link #onFailure} at any point. The last call is the one with {@code end},
 * {@code onTrailers} or {@code onFailure}. The implementation flushes its writes once per turn of
 * the event loop.
 */
public interface ResponseSink {
    /** Returns who has sent the request. */
    default Requester requester() {
        return Requester.EMBEDDING_PROGRAM;
    }

    /**
     * Adds to the report what only stages in front of the exchange know: how they have encoded the
     * response, and what the client receives instead of this end. Called before {@link #onFailure},
     * only if the end is reported.
     *
     * @param failure what {@link #onFailure} is about to receive; {@code null} = it is not called
     */
    default void complete(ExchangeReport report, @Nullable Failure failure) {}

    /**
     * A worker has been found for the first attempt. Called again if this worker had no room.
     * Called only if the policy has filters ({@link
     * io.lambdadispatcher.core.options.TrafficPolicy#isFiltered}).
     */
    default void onSent() {}

    /** Receives an interim response (1xx) with {@code :status}. There is no 101. */
    void onInterim(Http2Headers head);

    /**
     * Returns whether the sink no longer uses the headers when {@link #onHead} returns, so that
     * their object can be reused.
     */
    default boolean isDoneWithHead() {
        return false;
    }

    /** Receives the final response headers with {@code :status}. The sink may change them. */
    void onHead(Http2Headers head, boolean end);

    /**
     * @param data owned by the sink. Its bytes count in the worker's window until the sink calls
     *     {@link RequestSink#responseTaken} for them
     */
    void onData(ByteBuf data, boolean end);

    /** The response ends. The sink may change the trailers. */
    void onTrailers(Http2Headers trailers);

    /**
     * There is no response, or no complete one. Without response headers, the client gets an error
     * response. Otherwise, the stream is reset (HTTP/2) or the connection closed (HTTP/1.1), so
     * that the response never looks complete.
     */
    void onFailure(Failure failure);

    /**
     * The worker stream has taken this many bytes of the request body, which return to the client's
     * window.
     */
    void onRequestTaken(int bytes);
}
