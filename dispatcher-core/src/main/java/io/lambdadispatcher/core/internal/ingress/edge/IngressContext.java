package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.HttpLimits;
import io.netty.util.AsciiString;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * What a client connection needs, whatever version of HTTP it uses.
 *
 * @param account opens the connection's requests, and limits the memory that it uses
 * @param errors makes the dispatcher's own error responses
 * @param scheme {@code http} or {@code https}
 * @param client the client's address, which is not the peer's if a load balancer has named it;
 *     {@code null} if the connection was closed before
 * @param certificate describes the client's certificate, for the application; {@code null} = it has
 *     none
 */
public record IngressContext(
        HttpLimits limits,
        TrustedHeaders headers,
        ClientAccount account,
        IngressDrain drain,
        ErrorAnswers errors,
        String scheme,
        @Nullable SocketAddress client,
        DispatcherObserver observer,
        @Nullable AsciiString certificate) {

    public IngressContext withCertificate(@Nullable AsciiString value) {
        return new IngressContext(limits, headers, account, drain, errors, scheme, client, observer, value);
    }
}
