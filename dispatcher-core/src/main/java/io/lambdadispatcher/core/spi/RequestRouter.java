package io.lambdadispatcher.core.spi;

import io.netty.handler.codec.http2.Http2Headers;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the function that serves a request, and the policy of the request's route.
 *
 * <pre>{@code
 * RouteTarget images = RouteTarget.of("images");
 * RouteTarget shop = RouteTarget.of("shop");
 * RequestRouter router = head -> head.path().toString().startsWith("/images/") ? images : shop;
 * }</pre>
 *
 * <p><b>Threading.</b> Called on event loops, for every request. Must not block.
 */
@FunctionalInterface
public interface RequestRouter {
    /**
     * Returns the function that serves a request. If the method throws anything but the exception
     * below, the client receives 500.
     *
     * @param head its {@code :path} is as the client sent it, and may be replaced. Applications can
     *     take different spellings, such as {@code /%6Cogin} and {@code //login}, for one path
     * @return a target with the name of a configured function, or {@code null} to send 404
     * @throws AmbiguousPathException to send 400
     */
    @Nullable
    RouteTarget route(Http2Headers head);

    /**
     * Returns the names, in lower case, of the headers that decide. A client cannot remove them
     * with {@code connection}. Called when the router is set, on any thread.
     */
    default Set<String> requestHeaders() {
        return Set.of();
    }
}
