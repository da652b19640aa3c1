/**
 * The public side: a client's HTTP/1.1 or HTTP/2 connection on one hand, {@link
 * io.lambdadispatcher.core.internal.exchange.ExchangeOpener} and its sinks on the other. Each
 * connection is confined to its event loop.
 */
@NullMarked
package io.lambdadispatcher.core.internal.ingress;

import org.jspecify.annotations.NullMarked;
