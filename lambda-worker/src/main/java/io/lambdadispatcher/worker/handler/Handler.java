package io.lambdadispatcher.worker.handler;

/**
 * Serves requests, many at once. One instance serves all connections of the worker, so it is called on several event loops.
 */
@FunctionalInterface
public interface Handler {
    /**
     * Starts to serve one request; need not have finished when it returns. Called on the event loop of the connection: must not
     * block.
     *
     * @throws Exception fails this request only: 500 to the client if no head was sent, a broken response otherwise
     */
    void handle(Request request, Response response) throws Exception;

    /**
     * Whether requests for a tunnel come here as well: extended CONNECT, which is how a WebSocket arrives whatever HTTP the client speaks (RFC 8441; {@code :protocol}
     * names it). A response of 2xx opens the tunnel, {@link Response#write} and {@link RequestBody} carry its octets, as they are, and each direction ends by
     * itself; any other status is an ordinary response. Handlers that say false never see one: the client is told 501.
     */
    default boolean servesTunnels() {
        return false;
    }

    /** Returns what surrounds this handler's code. Called for each request, so it should return the same object. Default: nothing. */
    default HandlerInterceptor interceptor() {
        return HandlerInterceptor.NONE;
    }

    /** A handler that is a lambda and serves tunnels; any other says so itself. */
    static Handler withTunnels(Handler handler) {
        return new Handler() {
            @Override
            public void handle(Request request, Response response) throws Exception {
                handler.handle(request, response);
            }

            @Override
            public boolean servesTunnels() {
                return true;
            }

            @Override
            public HandlerInterceptor interceptor() {
                return handler.interceptor();
            }
        };
    }
}
