package io.lambdadispatcher.worker.handler;

/**
 * Serves requests. One instance serves all requests of the worker concurrently, on several event
 * loops.
 *
 * <pre>{@code
 * Handler handler = (request, response) -> response.respond(200, "hello");
 * }</pre>
 *
 * <p>To serve on threads that may block, implement {@link
 * io.lambdadispatcher.worker.blocking.BlockingHandler}.
 */
@FunctionalInterface
public interface Handler {
    /**
     * Starts to serve one request. The response may end later, from any thread.
     *
     * <p><b>Threading.</b> Called on the event loop of the connection, which it must not block.
     *
     * @throws Exception fails this request only: the client receives 500 if no head has been sent,
     *     and an incomplete response otherwise
     */
    void handle(Request request, Response response) throws Exception;

    /**
     * Returns whether this handler serves tunnels, too. A tunnel is an extended CONNECT, which is
     * how a WebSocket arrives, whichever HTTP version the client speaks (RFC 8441). {@code
     * :protocol} names it. A response of 2xx opens the tunnel: {@link Response#write} and {@link
     * RequestBody} carry its bytes unchanged, and each direction ends by itself. Any other status
     * is an ordinary response.
     *
     * <p>Default: false. Clients that ask for a tunnel receive 501.
     */
    default boolean servesTunnels() {
        return false;
    }

    /**
     * Returns what surrounds this handler's code. Called for each request, so it should return the
     * same object. Default: nothing.
     */
    default HandlerInterceptor interceptor() {
        return HandlerInterceptor.NONE;
    }

    /**
     * Returns whether this process does the work of a request. If another process does it, for
     * example an application that this handler forwards to, the CPU time of a request is not known,
     * and the dispatcher sends requests that arrive together to several workers.
     *
     * <p>Default: true.
     */
    default boolean servesInProcess() {
        return true;
    }

    /**
     * Returns the object whose further interfaces count, for example {@link Lifecycle} and {@link
     * DownstreamShareListener}. A handler that wraps another one returns what that returns.
     * Default: this handler.
     */
    default Object implementation() {
        return this;
    }

    /** Returns a handler that serves tunnels, for use with a lambda expression. */
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

            @Override
            public boolean servesInProcess() {
                return handler.servesInProcess();
            }

            @Override
            public Object implementation() {
                return handler.implementation();
            }
        };
    }
}
