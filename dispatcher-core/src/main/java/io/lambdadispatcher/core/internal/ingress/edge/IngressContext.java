package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.core.internal.exchange.ExchangeOpener;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.HttpLimits;

/**
 * What a client's connection needs, whatever HTTP it speaks.
 *
 * @param opener of the connection's event loop
 * @param scheme {@code http} or {@code https}
 */
public record IngressContext(
        HttpLimits limits,
        ForwardingPolicy forwarding,
        ExchangeOpener opener,
        IngressDrain drain,
        String scheme,
        DispatcherObserver observer) {}
