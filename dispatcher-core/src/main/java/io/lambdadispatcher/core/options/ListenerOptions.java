package io.lambdadispatcher.core.options;

import java.net.InetSocketAddress;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A port that the dispatcher listens on. With TLS, ALPN chooses between HTTP/2 and HTTP/1.1 on a
 * public port, and the worker port requires HTTP/2. Without TLS, a connection that starts with the
 * preface of HTTP/2 speaks h2c (RFC 9113 section 3.3), and any other speaks HTTP/1.1. Immutable.
 */
public final class ListenerOptions {
    private final InetSocketAddress address;
    private final @Nullable TlsOptions tls;

    private ListenerOptions(InetSocketAddress address, @Nullable TlsOptions tls) {
        this.address = Objects.requireNonNull(address, "address");
        this.tls = tls;
    }

    /** Returns a port without TLS. @param port 0 for any free port */
    public static ListenerOptions plain(String host, int port) {
        return plain(new InetSocketAddress(host, port));
    }

    /** Returns a port without TLS. @param address with port 0 for any free port */
    public static ListenerOptions plain(InetSocketAddress address) {
        return new ListenerOptions(address, null);
    }

    /** Returns a port with TLS. @param port 0 for any free port */
    public static ListenerOptions tls(String host, int port, TlsOptions tls) {
        return tls(new InetSocketAddress(host, port), tls);
    }

    /** Returns a port with TLS. @param address with port 0 for any free port */
    public static ListenerOptions tls(InetSocketAddress address, TlsOptions tls) {
        return new ListenerOptions(address, Objects.requireNonNull(tls, "tls"));
    }

    public InetSocketAddress address() {
        return address;
    }

    /** Returns {@code null} if the port has no TLS. */
    public @Nullable TlsOptions tls() {
        return tls;
    }
}
