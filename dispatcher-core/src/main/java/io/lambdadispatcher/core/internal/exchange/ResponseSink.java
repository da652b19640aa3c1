package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.observe.ClientProtocol;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * What the public side implements for each request: the response arrives here, on the client's
 * event loop, as {@code onInterim* onHead onData* onTrailers?} or is cut off by {@link #onFailure}.
 * The last call is the one with {@code end}, {@code onTrailers} or {@code onFailure}; writes are
 * flushed by the implementation, once per turn of the event loop.
 */
public interface ResponseSink {
    /** The key of all requests of the embedding program that name no client. */
    Object EMBEDDER = new Object();

    /**
     * Returns a key that is equal for all requests of one client, and only for those. Asked for
     * only if the request has to wait, or if its body does not arrive together with its head.
     *
     * @param head of the request, as it was given to {@link ExchangeOpener#open}
     */
    default Object client(Http2Headers head) {
        return EMBEDDER;
    }

    /**
     * Returns the remote address of the client's connection; {@code null} for the embedding
     * program.
     */
    default @Nullable SocketAddress remoteAddress() {
        return null;
    }

    default ClientProtocol protocol() {
        return ClientProtocol.EMBEDDED;
    }

    /** A 1xx head with {@code :status}; 101 never arrives. */
    void onInterim(Http2Headers head);

    /** The final head with {@code :status}. The sink may change it. */
    void onHead(Http2Headers head, boolean end);

    /**
     * @param data owned by the sink from here on. Its bytes are charged to the worker's window
     *     until the sink has called {@link RequestSink#responseTaken} for them
     */
    void onData(ByteBuf data, boolean end);

    /** The response ends. The sink may change the trailers. */
    void onTrailers(Http2Headers trailers);

    /**
     * The response will not come, or not come whole: an error response where no head has been sent,
     * else the stream is reset (HTTP/2) or the connection cut (HTTP/1.1), never ended cleanly.
     */
    void onFailure(Failure failure);

    /**
     * The worker stream has taken this many bytes of request body: the client's window gets them
     * back.
     */
    void onRequestTaken(int bytes);
}
