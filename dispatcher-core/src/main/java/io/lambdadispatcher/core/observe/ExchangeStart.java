package io.lambdadispatcher.core.observe;

import io.netty.handler.codec.http2.Http2Headers;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * A request that has arrived. Its body may still be on its way.
 *
 * <p><b>Threading.</b> Event loop only, and only while {@link DispatcherObserver#onExchangeStart}
 * runs: copy what is needed later.
 */
public interface ExchangeStart {
    /** Returns the function that serves the request, or {@code null} if no route matched. */
    @Nullable
    String function();

    /**
     * Returns the request's headers and pseudo-headers as the worker will receive them. They must
     * not be changed. A WebSocket's method is CONNECT, whichever HTTP version its client speaks.
     */
    Http2Headers headers();

    /**
     * Returns the remote address of the client's connection, or {@code null} if the embedding
     * program has sent the request itself.
     */
    @Nullable
    SocketAddress remoteAddress();

    ClientProtocol protocol();
}
