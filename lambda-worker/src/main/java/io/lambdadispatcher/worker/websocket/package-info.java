/**
 * WebSockets (RFC 6455) that the worker itself serves.
 *
 * <pre>{@code
 * WebSocketHandler echo = session -> new WebSocketListener() {
 *     public void onText(WebSocketSession session, String text) {
 *         session.sendText(text);
 *     }
 * };
 * Handler handler = echo.asHandler();
 * }</pre>
 *
 * <p>A WebSocket arrives as an extended CONNECT (RFC 8441), whichever version of HTTP the client
 * uses. The dispatcher has completed the handshake, and the bodies of request and response contain
 * the frames. All calls are on the event loop of the request.
 */
@NullMarked
package io.lambdadispatcher.worker.websocket;

import org.jspecify.annotations.NullMarked;
