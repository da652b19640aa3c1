package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.HttpLimits;

/**
 * What a client's connection needs, whatever HTTP it speaks.
 *
 * @param account opens the connection's requests, and bounds what it holds
 * @param errors makes the dispatcher's own error responses
 * @param scheme {@code http} or {@code https}
 */
public record IngressContext(
        HttpLimits limits,
        ForwardingPolicy forwarding,
        ClientAccount account,
        IngressDrain drain,
        ErrorAnswers errors,
        String scheme,
        DispatcherObserver observer) {}
