package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.Substitute;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Receives the response of a request on the client's event loop: {@code onInterim* onHead onData*
 * onTrailers?}, or {@link #onFailure} at any point. The last call is the one with {@code end},
 * {@code onTrailers} or {@code onFailure}. The implementation flushes its writes once per turn of
 * the event loop.
 */
public interface ResponseSink {
    /** Key of all requests of the embedding program that name no client. */
    Object EMBEDDER = new Object();

    /**
     * Returns a key that is equal for all requests of one client, and only for those. Called only
     * if the request is queued, if its body does not arrive together with its headers, or if it
     * passes a filter of the program.
     *
     * @param head request headers, as in {@link ExchangeOpener#open}
     */
    default Object client(Http2Headers head) {
        return EMBEDDER;
    }

    /** Tells a client's sink which function gets its request, before all other calls. */
    default void onRouted(String function) {}

    /**
     * Returns the client's address, which a load balancer may have named; {@code null} for the
     * embedding program.
     */
    default @Nullable SocketAddress remoteAddress() {
        return null;
    }

    default ClientProtocol protocol() {
        return ClientProtocol.EMBEDDED;
    }

    /**
     * Hands over the exchange of the sink's previous request, which has ended and can serve this
     * one; {@code null} if there is none.
     */
    default @Nullable Exchange takeEndedExchange() {
        return null;
    }

    /**
     * Returns what the client receives instead of this end of the exchange; {@code null} = the end
     * itself. Called before {@link #onFailure}, only if the end is reported.
     *
     * @param status the status that {@link #onHead} received; 0 = it was not called
     * @param failure what {@link #onFailure} is about to receive; {@code null} = it is not called
     */
    default @Nullable Substitute substitute(int status, @Nullable Failure failure) {
        return null;
    }

    /**
     * Returns how a filter has encoded the response for the client; {@code null} = none has. Called
     * after {@link #onHead}, only if the end is reported.
     */
    default @Nullable String contentEncoding() {
        return null;
    }

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
