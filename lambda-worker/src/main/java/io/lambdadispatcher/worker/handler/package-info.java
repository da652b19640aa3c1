/**
 * What user code implements and is given: {@link io.lambdadispatcher.worker.handler.Handler}, its
 * request and its response. A handler is called on the event loop of the worker connection and must
 * not block there; {@code io.lambdadispatcher.worker.blocking} has the form that may.
 */
@NullMarked
package io.lambdadispatcher.worker.handler;

import org.jspecify.annotations.NullMarked;
