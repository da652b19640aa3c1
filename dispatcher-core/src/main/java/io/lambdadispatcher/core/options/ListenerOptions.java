package io.lambdadispatcher.core.options;

import java.net.InetSocketAddress;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A port that the dispatcher listens on, with or without TLS. Immutable.
 *
 * <pre>{@code
 * TlsOptions tls = TlsOptions.of(Path.of("chain.pem"), Path.of("key.pem"));
 * ListenerOptions clients = ListenerOptions.tls("0.0.0.0", 8443, tls);
 * ListenerOptions workers = ListenerOptions.plain("127.0.0.1", 8444);
 * }</pre>
 *
 * <p>A port for clients with TLS negotiates HTTP/2 or HTTP/1.1 by ALPN (RFC 7301). Without TLS, a
 * connection that starts with the preface of HTTP/2 speaks HTTP/2 (RFC 9113 section 3.3), and any
 * other speaks HTTP/1.1. A port for workers requires HTTP/2.
 */
public final class ListenerOptions {
    private final InetSocketAddress address;
    private final @Nullable TlsOptions tls;

    private ListenerOptions(InetSocketAddress address, @Nullable TlsOptions tls) {
        this.address = Objects.requireNonNull(address, "address");
        this.tls = tls;
    }

    /**
     * Returns a port without TLS.
     *
     * @param host the name or address of a local interface; {@code 0.0.0.0} for all
     * @param port 0 for any free port
     * @throws IllegalArgumentException if {@code port} is not 0 to 65,535
     */
    public static ListenerOptions plain(String host, int port) {
        return plain(new InetSocketAddress(host, port));
    }

    /**
     * Returns a port without TLS.
     *
     * @param address the local address; its port is 0 for any free port
     */
    public static ListenerOptions plain(InetSocketAddress address) {
        return new ListenerOptions(address, null);
    }

    /**
     * Returns a port with TLS.
     *
     * @param host the name or address of a local interface; {@code 0.0.0.0} for all
     * @param port 0 for any free port
     * @throws IllegalArgumentException if {@code port} is not 0 to 65,535
     */
    public static ListenerOptions tls(String host, int port, TlsOptions tls) {
        return tls(new InetSocketAddress(host, port), tls);
    }

    /**
     * Returns a port with TLS.
     *
     * @param address the local address; its port is 0 for any free port
     */
    public static ListenerOptions tls(InetSocketAddress address, TlsOptions tls) {
        return new ListenerOptions(address, Objects.requireNonNull(tls, "tls"));
    }

    /** Returns the address that was given. It still has port 0 if any free port was requested. */
    public InetSocketAddress address() {
        return address;
    }

    /** Returns the TLS options, or {@code null} if the port has no TLS. */
    public @Nullable TlsOptions tls() {
        return tls;
    }
}
