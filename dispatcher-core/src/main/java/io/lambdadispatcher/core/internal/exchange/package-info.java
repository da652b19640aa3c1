/**
 * A request and its response between a client and a worker stream. The client's side and the
 * worker's side know each other only through the interfaces of this package. An {@link
 * io.lambdadispatcher.core.internal.exchange.Exchange} decides what happens if one of them fails.
 * Client's event loop only, unless a class says otherwise.
 */
@NullMarked
package io.lambdadispatcher.core.internal.exchange;

import org.jspecify.annotations.NullMarked;
