/**
 * WebSockets (RFC 6455) served by the worker itself. Whatever HTTP a client speaks, its WebSocket arrives as an extended CONNECT (RFC 8441): the handshake
 * is done by then, and what is left are frames in the request's and the response's body. All calls come on the event loop of the request.
 */
@NullMarked
package io.lambdadispatcher.worker.websocket;

import org.jspecify.annotations.NullMarked;
