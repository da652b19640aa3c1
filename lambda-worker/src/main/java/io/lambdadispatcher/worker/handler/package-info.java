/**
 * What you implement to serve requests: {@link io.lambdadispatcher.worker.handler.Handler}. It
 * receives a request and a response.
 *
 * <pre>{@code
 * Handler handler = (request, response) -> response.respond(200, "hello from " + request.path());
 * }</pre>
 *
 * <p>A handler is called on the event loop of the worker connection, which it must not block. Use
 * {@link io.lambdadispatcher.worker.blocking} for handlers that block.
 */
@NullMarked
package io.lambdadispatcher.worker.handler;

import org.jspecify.annotations.NullMarked;
