package io.lambdadispatcher.core.options;

import io.netty.channel.ServerChannel;
import java.net.InetSocketAddress;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A port that the dispatcher listens on, with or without TLS. Immutable.
 *
 * <pre>{@code
 * TlsOptions tls = TlsOptions.of(Path.of("chain.pem"), Path.of("key.pem"));
 * ListenerOptions clients = ListenerOptions.tls("0.0.0.0", 8443, tls);
 * ListenerOptions workers = ListenerOptions.workers("0.0.0.0", 8444);
 * }</pre>
 *
 * <p>A port for clients with TLS negotiates HTTP/2 or HTTP/1.1 by ALPN (RFC 7301). Without TLS, a
 * connection that starts with the preface of HTTP/2 speaks HTTP/2 (RFC 9113 section 3.3), and any
 * other speaks HTTP/1.1. A port for workers requires HTTP/2.
 */
public final class ListenerOptions {
    private final InetSocketAddress address;
    private final @Nullable TlsOptions tls;
    private final boolean forWorkers;
    private final boolean proxyProtocol;
    private final @Nullable ServerChannel socket;

    private ListenerOptions(
            InetSocketAddress address,
            @Nullable TlsOptions tls,
            boolean forWorkers,
            boolean proxyProtocol,
            @Nullable ServerChannel socket) {
        this.address = Objects.requireNonNull(address, "address");
        this.tls = tls;
        this.forWorkers = forWorkers;
        this.proxyProtocol = proxyProtocol;
        this.socket = socket;
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
        return new ListenerOptions(address, null, false, false, null);
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
        return new ListenerOptions(address, Objects.requireNonNull(tls, "tls"), false, false, null);
    }

    /**
     * Returns a port for workers with TLS that needs no files. Its key follows from the
     * dispatcher's secret, and workers accept no other key.
     *
     * @param host the name or address of a local interface; {@code 0.0.0.0} for all
     * @param port 0 for any free port
     * @throws IllegalArgumentException if {@code port} is not 0 to 65,535
     */
    public static ListenerOptions workers(String host, int port) {
        return workers(new InetSocketAddress(host, port));
    }

    /**
     * Returns a port for workers with TLS that needs no files. See {@link #workers(String, int)}.
     *
     * @param address the local address; its port is 0 for any free port
     */
    public static ListenerOptions workers(InetSocketAddress address) {
        return new ListenerOptions(address, null, true, false, null);
    }

    /**
     * Returns a copy of these options for a port behind a load balancer that names the client in a
     * PROXY header, such as an AWS Network Load Balancer. For ports for clients only.
     *
     * <p>Each connection must begin with a header of version 1 or 2 of the PROXY protocol, before
     * TLS if there is any. The client's address is then that of the header: for limits, forwarding
     * headers and observers. Connections that the load balancer opens by itself (LOCAL) have its
     * own address. A connection without a valid header within {@link HttpLimits#headerTimeout} is
     * closed, and reported as {@code Protection.PROXY_HEADER}.
     *
     * <p>Let only the load balancer reach the port. Anybody else could pretend to be any client.
     */
    public ListenerOptions withProxyProtocol() {
        return new ListenerOptions(address, tls, forWorkers, true, socket);
    }

    /**
     * Returns a copy of these options for a socket that listens already, such as one that systemd
     * has opened. The dispatcher does not bind it, and closes it when it stops. A process that has
     * the same socket can take over its clients: those that wait in the socket's queue lose
     * nothing.
     *
     * @param channel the socket's channel, which suits {@link Transport#serverChannel} and is not
     *     registered with an event loop. It can be used once
     */
    public ListenerOptions withSocket(ServerChannel channel) {
        return new ListenerOptions(address, tls, forWorkers, proxyProtocol, Objects.requireNonNull(channel, "channel"));
    }

    /** Returns the address that was given. It still has port 0 if any free port was requested. */
    public InetSocketAddress address() {
        return address;
    }

    /** Returns whether this is a port of {@link #workers(String, int)}. */
    public boolean isForWorkers() {
        return forWorkers;
    }

    /** Returns the TLS options, or {@code null} if the port has no TLS from files. */
    public @Nullable TlsOptions tls() {
        return tls;
    }

    /**
     * Returns the channel that listens already, or {@code null} if the dispatcher opens the port.
     */
    public @Nullable ServerChannel socket() {
        return socket;
    }

    /** Returns whether each connection begins with a PROXY header. */
    public boolean isProxyProtocol() {
        return proxyProtocol;
    }
}
