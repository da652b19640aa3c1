package io.lambdadispatcher.worker.websocket;

import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.HandlerInterceptor;

/**
 * Serves WebSockets. One instance serves all sessions of the worker.
 *
 * <pre>{@code
 * WebSocketHandler echo = session -> new WebSocketListener() {
 *     public void onText(WebSocketSession session, String text) {
 *         session.sendText(text);
 *     }
 * };
 * Worker worker = new Worker(config, echo.asHandler()).start();
 * }</pre>
 *
 * <p><b>Threading.</b> Called on several event loops, which it must not block.
 */
@FunctionalInterface
public interface WebSocketHandler {
    /**
     * A client has opened a session. To reject clients, call {@link #asHandler} from a {@link
     * Handler} that answers other requests with a status.
     *
     * @param session messages can be sent immediately
     * @return receives the messages; the same listener may serve all sessions
     * @throws Exception closes the session with {@link WebSocketSession#HANDLER_FAILED}
     */
    WebSocketListener onOpen(WebSocketSession session) throws Exception;

    /**
     * Returns what surrounds the code of this handler and its listeners. Called for each session,
     * so it should return the same object. Default: nothing.
     */
    default HandlerInterceptor interceptor() {
        return HandlerInterceptor.NONE;
    }

    /**
     * Returns a handler with the default options. It answers requests that do not open a WebSocket
     * with status 426.
     */
    default Handler asHandler() {
        return asHandler(WebSocketOptions.usual());
    }

    /** Returns a handler with {@code options}, which otherwise is as {@link #asHandler()}. */
    default Handler asHandler(WebSocketOptions options) {
        return new WebSocketAccess(this, options);
    }
}
