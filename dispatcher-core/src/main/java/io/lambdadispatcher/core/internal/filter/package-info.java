/**
 * What happens to a request between its client and its function, if the policy of its route asks
 * for it, or the program has filters of all requests. Other requests do not come here. Each filter
 * is a {@link io.lambdadispatcher.core.internal.exchange.FunctionOpener} around the next one, and
 * passes requests that it does not concern on without an object of its own. {@link
 * io.lambdadispatcher.core.spi.Filter.Phase} states their order. Client's event loop only, unless a
 * class says otherwise.
 */
@NullMarked
package io.lambdadispatcher.core.internal.filter;

import org.jspecify.annotations.NullMarked;
