package io.lambdadispatcher.core.spi;

import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the function that serves a request.
 *
 * <p><b>Threading.</b> Called on event loops, for every request. Must not block.
 */
@FunctionalInterface
public interface RequestRouter {
    /**
     * Returns the function that serves a request. If the method throws, the client receives 500.
     *
     * @return the name of a configured function, or {@code null} to send 404
     */
    @Nullable
    String route(Http2Headers head);
}
