package io.lambdadispatcher.core;

import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * A port that the dispatcher listens on. With TLS, ALPN chooses between h2 and HTTP/1.1 (public side) or demands h2 (worker side);
 * without, a connection that starts with HTTP/2's preface speaks h2c, any other HTTP/1.1, and h2c after a request without a body that asks for
 * it by {@code Upgrade} (public side).
 *
 * @param address port 0 = any free port, see {@link Dispatcher#publicAddresses}
 * @param tls {@code null} = plain
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
