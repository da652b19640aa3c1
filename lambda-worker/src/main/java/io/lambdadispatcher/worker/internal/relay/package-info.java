/**
 * One worker stream: frames to handler and back, exchange after exchange. Everything is confined to
 * the event loop of the connection, except what {@link io.lambdadispatcher.worker.handler.Request}
 * and {@link io.lambdadispatcher.worker.handler.Response} let other threads do. DATA payloads pass
 * through by reference in both directions.
 */
@NullMarked
package io.lambdadispatcher.worker.internal.relay;

import org.jspecify.annotations.NullMarked;
