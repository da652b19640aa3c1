package io.lambdadispatcher.core.observe;

import io.netty.handler.codec.http2.Http2Headers;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * A request that has arrived. Its body may not have arrived yet.
 *
 * <p><b>Threading.</b> Use it only on the event loop, and only during {@link
 * DispatcherObserver#onExchangeStart}. Copy what you need later.
 */
public interface ExchangeStart {
    /**
     * Returns the name of the function that serves the request. Returns {@code null} if no route
     * matched, or if the request is refused before it is routed.
     */
    @Nullable
    String function();

    /**
     * Returns the request's headers and pseudo-headers as the worker will receive them. They must
     * not be changed. A WebSocket's method is CONNECT, whichever HTTP version its client speaks.
     */
    Http2Headers headers();

    /**
     * Returns the remote address of the client's connection, or the address that the load
     * balancer's PROXY header names. Returns {@code null} for requests of {@code
     * Dispatcher.dispatch}.
     */
    @Nullable
    SocketAddress remoteAddress();

    /** Returns how the request reached the dispatcher. */
    ClientProtocol protocol();
}
