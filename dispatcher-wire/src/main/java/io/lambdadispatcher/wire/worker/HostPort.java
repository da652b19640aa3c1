package io.lambdadispatcher.wire.worker;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/** The address of a worker port as text: {@code host:port}, an IPv6 address in brackets. */
public final class HostPort {
    private HostPort() {}

    /** Returns the unresolved address, or {@code null} if the text is not {@code host:port}. */
    public static @Nullable InetSocketAddress parse(String text) {
        int colon = text.lastIndexOf(':');
        String host = colon < 0 ? "" : text.substring(0, colon).trim();
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        }
        try {
            int port = Integer.parseInt(text.substring(colon + 1).trim());
            return host.isEmpty() || port < 1 || port > 65_535 ? null : InetSocketAddress.createUnresolved(host, port);
        } catch (NumberFormatException e) {
            return null;
        }
    }

    /**
     * Returns the text of the address that a worker dials. A wildcard address cannot be dialled, so
     * it becomes the loopback address, which workers on the same machine can dial.
     */
    public static String text(InetSocketAddress address) {
        InetAddress ip = address.getAddress();
        String host = ip != null && ip.isAnyLocalAddress()
                ? InetAddress.getLoopbackAddress().getHostAddress()
                : address.getHostString();
        return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + address.getPort();
    }
}
