package io.lambdadispatcher.core.spi;

import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/** Chooses the function for a request. Called on event loops, for every request: must not block. */
@FunctionalInterface
public interface RequestRouter {
    /** @return the name of a configured function, or {@code null}: the client gets 404. If it throws: 500 */
    @Nullable
    String route(Http2Headers head);
}
