package io.lambdadispatcher.core.options;

import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * A port that the dispatcher listens on. With TLS, ALPN chooses between h2 and HTTP/1.1 on a public port, and demands h2 on the worker port.
 * Without TLS, a connection that starts with HTTP/2's preface speaks h2c (RFC 9113 section 3.3), and any other speaks HTTP/1.1.
 *
 * @param address port 0 stands for any free port
 * @param tls {@code null} = no TLS
 */
public record ListenerOptions(
        InetSocketAddress address, @Nullable TlsOptions tls) {
    public static ListenerOptions plain(String host, int port) {
        return new ListenerOptions(new InetSocketAddress(host, port), null);
    }

    public static ListenerOptions tls(String host, int port, TlsOptions tls) {
        return new ListenerOptions(new InetSocketAddress(host, port), tls);
    }
}
