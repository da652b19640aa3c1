package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.ForwardingPolicy.Headers;
import io.lambdadispatcher.core.options.ForwardingPolicy.Trust;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Identifies clients, for fairness between them. A client is identified by the address of its
 * connection. If a trusted proxy is in front, the proxy identifies it: in the header that the
 * operator has chosen, or with the last address in {@code x-forwarded-for} or {@code forwarded}. An
 * IPv6 address counts as its /64 network, because one host can have all of it. An IPv4-mapped one
 * counts as its IPv4 address. There is one object for each client connection. Event loop only.
 */
final class ClientKeys {
    private static final String UNKNOWN = "unknown";
    private static final String FOR = "for=";

    /** Start of IPv4-mapped addresses (RFC 4291 section 2.5.5.2). They all have the same /64. */
    private static final byte[] IPV4_MAPPED = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1};

    private final ForwardingPolicy policy;
    private final @Nullable InetAddress remote;
    private @Nullable Object connection;

    ClientKeys(ForwardingPolicy policy, @Nullable InetAddress remote) {
        this.policy = policy;
        this.remote = remote;
    }

    /**
     * Returns the key of the client that sent a request.
     *
     * @param head request headers, including those that {@link HeadRules} has added
     * @param ownForwarded start of the element that {@link HeadRules} adds to {@code forwarded}
     */
    Object of(Http2Headers head, String ownForwarded) {
        if (policy.trust() == Trust.APPEND) {
            CharSequence named = policy.clientHeader().isEmpty() ? null : head.get(policy.clientHeader());
            if (named != null) {
                return named.toString();
            }
            String hop = lastForwardedFor(head);
            hop = hop == null ? lastForwarded(head, ownForwarded) : hop;
            if (hop != null) {
                return ofText(hop);
            }
        }
        return ofConnection();
    }

    private Object ofConnection() {
        Object own = connection;
        if (own == null) {
            own = remote == null ? UNKNOWN : ofAddress(remote.getAddress());
            connection = own;
        }
        return own;
    }

    private @Nullable String lastForwardedFor(Http2Headers head) {
        String list = String.join(",", head.getAll(HeadRules.X_FORWARDED_FOR));
        boolean endsWithOwn = policy.headers() == Headers.X_FORWARDED || policy.headers() == Headers.BOTH;
        return lastElement(endsWithOwn ? list.substring(0, Math.max(0, list.lastIndexOf(','))) : list);
    }

    /** Returns the last client that a proxy has named in {@code forwarded} (RFC 7239 section 4). */
    private static @Nullable String lastForwarded(Http2Headers head, String own) {
        String list = String.join(",", head.getAll(HeadRules.FORWARDED));
        int ownBegin = list.lastIndexOf(own);
        String element =
                lastElement(ownBegin < 0 ? list : list.substring(0, Math.max(0, list.lastIndexOf(',', ownBegin))));
        if (element == null) {
            return null;
        }
        for (String pair : element.split(";")) {
            String stripped = pair.strip();
            if (stripped.toLowerCase(Locale.ROOT).startsWith(FOR)) {
                return stripped.substring(FOR.length()).replace("\"", "");
            }
        }
        return null;
    }

    private static @Nullable String lastElement(String list) {
        String last = list.substring(list.lastIndexOf(',') + 1).strip();
        return last.isEmpty() ? null : last;
    }

    /**
     * @param node an address, with or without a port, or any other name that the proxy gives the
     *     client
     */
    private static Object ofText(String node) {
        int bracket = node.indexOf(']');
        String host = node;
        if (node.startsWith("[") && bracket > 0) {
            host = node.substring(1, bracket);
        } else if (node.indexOf(':') >= 0 && node.indexOf(':') == node.lastIndexOf(':')) {
            host = node.substring(0, node.indexOf(':'));
        }
        byte[] address = NetUtil.createByteArrayFromIpAddressString(host);
        return address == null ? host : ofAddress(address);
    }

    private static Object ofAddress(byte[] address) {
        int mapped = IPV4_MAPPED.length;
        boolean isMapped = address.length > mapped && Arrays.equals(address, 0, mapped, IPV4_MAPPED, 0, mapped);
        return isMapped
                ? new AsciiString(address, mapped, address.length - mapped, true)
                : new AsciiString(address, 0, Math.min(8, address.length), true);
    }
}
