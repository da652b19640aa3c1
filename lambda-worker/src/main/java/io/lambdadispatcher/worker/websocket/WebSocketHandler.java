package io.lambdadispatcher.worker.websocket;

import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.HandlerInterceptor;

/**
 * Serves WebSockets, many at once. One instance serves all connections of the worker, so it is
 * called on several event loops.
 */
@FunctionalInterface
public interface WebSocketHandler {
    /**
     * A client has been let in; to let in only some, put a {@link Handler} before that answers the
     * others with a status. Called on the event loop: must not block.
     *
     * @param session may be written to at once
     * @return hears what comes; may be one for all sessions
     * @throws Exception closes this session with 1011
     */
    WebSocketListener onOpen(WebSocketSession session) throws Exception;

    /**
     * Returns what surrounds the code of this handler and its listeners. Called for each session,
     * so it should return the same object. Default: nothing.
     */
    default HandlerInterceptor interceptor() {
        return HandlerInterceptor.NONE;
    }

    /** Answers requests that are for no WebSocket with 426. */
    default Handler asHandler() {
        return asHandler(WebSocketOptions.usual());
    }

    default Handler asHandler(WebSocketOptions options) {
        return new WebSocketAccess(this, options);
    }
}
