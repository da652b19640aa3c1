/**
 * The public ports: set-up of client connections and detection of their protocol. A connection
 * passes its requests to an {@link io.lambdadispatcher.core.internal.exchange.ExchangeOpener}. Each
 * connection is confined to its event loop.
 */
@NullMarked
package io.lambdadispatcher.core.internal.ingress;

import org.jspecify.annotations.NullMarked;
