/**
 * A request and its response between a client and a worker stream. The client's side and the
 * worker's side know each other only through the interfaces of this package. The client's side
 * calls an {@link io.lambdadispatcher.core.internal.exchange.Exchange}, which has the request's
 * states, the worker's side a {@link io.lambdadispatcher.core.internal.exchange.Try}. Between them,
 * {@link io.lambdadispatcher.core.internal.exchange.Attempts} decides what happens if a try fails.
 * Client's event loop only, unless a class says otherwise.
 */
@NullMarked
package io.lambdadispatcher.core.internal.exchange;

import org.jspecify.annotations.NullMarked;
