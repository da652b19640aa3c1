package io.lambdadispatcher.server.config;

import java.net.InetSocketAddress;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Where a port listens. Immutable.
 *
 * @param host {@code null} = every address of this machine
 * @param port 0 = any free port; negative = the port is off
 * @param proxyProtocol whether each connection must begin with a PROXY header
 */
public record ListenAddress(@Nullable String host, int port, boolean proxyProtocol) {
    static final ListenAddress OFF = new ListenAddress(null, -1, false);

    public boolean isOff() {
        return port < 0;
    }

    /** Returns the address; not resolved if the host is unknown. The port must not be off. */
    public InetSocketAddress toSocketAddress() {
        return new InetSocketAddress(hostOrAny(), port);
    }

    String hostOrAny() {
        return Objects.requireNonNullElse(host, "0.0.0.0");
    }

    /** Returns this address, or that of a host if it names none. */
    ListenAddress orOn(@Nullable String other) {
        return host != null || isOff() ? this : new ListenAddress(other, port, proxyProtocol);
    }
}
