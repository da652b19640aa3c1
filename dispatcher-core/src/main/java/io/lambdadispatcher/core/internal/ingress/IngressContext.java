package io.lambdadispatcher.core.internal.ingress;

import io.lambdadispatcher.core.DispatcherObserver;
import io.lambdadispatcher.core.ForwardingPolicy;
import io.lambdadispatcher.core.HttpLimits;
import io.lambdadispatcher.core.internal.exchange.ExchangeOpener;

/**
 * What a client's connection needs, whatever HTTP it speaks.
 *
 * @param opener of the connection's event loop
 * @param scheme {@code http} or {@code https}
 */
record IngressContext(
        HttpLimits limits,
        ForwardingPolicy forwarding,
        ExchangeOpener opener,
        DispatcherObserver observer,
        IngressDrain drain,
        String scheme) {}
