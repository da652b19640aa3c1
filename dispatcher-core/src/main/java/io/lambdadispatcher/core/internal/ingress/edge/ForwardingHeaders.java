package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.ForwardingPolicy.Headers;
import io.lambdadispatcher.wire.http.Authority;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.HopByHop;
import io.netty.handler.codec.http.HttpScheme;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import io.netty.util.NetUtil;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Finds out who has sent a request, and tells the application. Without a trusted proxy, the peer of
 * the connection is the client. A trusted proxy names the client, the scheme, and perhaps the host
 * and the port. Each of them has one value for limits, logs, events and headers; only {@code
 * x-forwarded-for} is a list, to which the peer is appended. There is one object for each client
 * connection, whose addresses are formatted once. Event loop only.
 */
final class ForwardingHeaders {
    private static final AsciiString X_FORWARDED_FOR = AsciiString.cached("x-forwarded-for");
    private static final AsciiString X_FORWARDED_PROTO = AsciiString.cached("x-forwarded-proto");
    private static final AsciiString X_FORWARDED_HOST = AsciiString.cached("x-forwarded-host");
    private static final AsciiString X_FORWARDED_PORT = AsciiString.cached("x-forwarded-port");
    private static final AsciiString FORWARDED = AsciiString.cached("forwarded");
    private static final AsciiString CLOUDFRONT_ADDRESS = AsciiString.cached("cloudfront-viewer-address");
    private static final AsciiString CLOUDFRONT_PROTO = AsciiString.cached("cloudfront-forwarded-proto");
    private static final AsciiString UNKNOWN = AsciiString.cached("unknown");

    /** Start of IPv4-mapped addresses (RFC 4291 section 2.5.5.2). They all have the same /64. */
    private static final byte[] IPV4_MAPPED = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1};

    private final TrustedHeaders trusted;
    private final ForwardingPolicy policy;
    private final AsciiString scheme;
    private final @Nullable AsciiString certificate;
    private final Client peer;
    private final Object peerKey;
    private final boolean unproxied;

    /** Who has sent the last request. */
    private Client client;

    // The value of "forwarded" for the previous authority, because most clients use only one.
    private @Nullable CharSequence lastAuthority;
    private AsciiString lastForwarded = AsciiString.EMPTY_STRING;
    private int lastPort = -1;
    private AsciiString lastPortText = AsciiString.EMPTY_STRING;

    private record Client(@Nullable SocketAddress address, AsciiString text) {}

    /** @param certificate describes the peer's certificate; {@code null} = it has none */
    ForwardingHeaders(
            TrustedHeaders trusted, String scheme, @Nullable SocketAddress remote, @Nullable AsciiString certificate) {
        this.certificate = certificate;
        this.trusted = trusted;
        this.policy = trusted.policy();
        this.scheme = AsciiString.cached(scheme);
        this.unproxied = !policy.trust().isProxied();
        InetAddress address = remote instanceof InetSocketAddress inet ? inet.getAddress() : null;
        peer = new Client(remote, address == null ? UNKNOWN : AsciiString.cached(NetUtil.toAddressString(address)));
        peerKey = key(remote);
        client = peer;
    }

    /** Returns the address of the client that has sent the last request. */
    @Nullable
    SocketAddress client() {
        return client.address;
    }

    /**
     * Returns the key of a client, for fairness between clients: what the header says that the
     * operator has chosen, the IPv4 address, or the first 64 bits of the IPv6 address, because one
     * host can have all of these.
     *
     * @param address as {@link #client} has returned it
     * @param head headers of its request
     */
    Object key(@Nullable SocketAddress address, Http2Headers head) {
        if (!policy.clientHeader().isEmpty()) {
            // The last one, because a proxy may add its own after what the client has sent.
            String named = null;
            for (CharSequence value : head.getAll(policy.clientHeader())) {
                named = value.toString();
            }
            if (named != null) {
                return named;
            }
        }
        return address == peer.address ? peerKey : key(address);
    }

    /**
     * Finds out who has sent a request, and adds headers to it.
     *
     * @param head only with headers that are trusted
     */
    void apply(Http2Headers head) {
        CharSequence authority = head.authority();
        if (certificate != null) {
            head.remove(ClientCertificate.HEADER);
            HeadRules.add(head, ClientCertificate.HEADER, certificate);
        }
        if (unproxied) {
            add(head, scheme, authority);
            return;
        }
        client = named(head);
        AsciiString proto = proto(head);
        CharSequence host = oneValue(head, X_FORWARDED_HOST);
        host = host != null && HeaderSyntax.isAuthority(host) ? host : authority;
        keepOnePort(head);
        head.remove(X_FORWARDED_HOST);
        head.remove(X_FORWARDED_PROTO);
        add(head, proto, host);
        HeadRules.add(head, HopByHop.CLIENT, client.text);
    }

    /** Returns how many headers a request without a proxy gets. */
    static int fieldsAdded(Headers added) {
        return switch (added) {
            case NONE -> 0;
            case FORWARDED -> 1;
            case X_FORWARDED -> 4;
            case BOTH -> 5;
        };
    }

    private void add(Http2Headers head, AsciiString proto, @Nullable CharSequence host) {
        Headers added = policy.headers();
        if (added == Headers.X_FORWARDED || added == Headers.BOTH) {
            append(head, X_FORWARDED_FOR, peer.text);
            HeadRules.add(head, X_FORWARDED_PROTO, proto);
            if (host != null) {
                HeadRules.add(head, X_FORWARDED_HOST, host);
                addPort(head, proto, host);
            }
        }
        if ((added == Headers.FORWARDED || added == Headers.BOTH) && host != null) {
            append(head, FORWARDED, forwarded(proto, host));
        }
    }

    /**
     * Adds the port that the client asked for, unless the proxy has named one. Servers such as
     * Tomcat take the port from no other header.
     */
    private void addPort(Http2Headers head, AsciiString proto, CharSequence host) {
        int port = Authority.port(host, proto);
        if (port < 0 || trusted.isWritten(X_FORWARDED_PORT) && head.contains(X_FORWARDED_PORT)) {
            return;
        }
        if (port != lastPort) {
            lastPort = port;
            lastPortText = AsciiString.of(Integer.toString(port));
        }
        HeadRules.add(head, X_FORWARDED_PORT, lastPortText);
    }

    private void append(Http2Headers head, AsciiString name, AsciiString value) {
        if (unproxied || !head.contains(name)) {
            HeadRules.add(head, name, value);
        } else {
            head.set(name, String.join(", ", head.getAllAndRemove(name)) + ", " + value);
        }
    }

    /** Returns the element of {@code forwarded} for a request (RFC 7239 section 4). */
    private AsciiString forwarded(AsciiString proto, CharSequence host) {
        if (lastAuthority == null || !unproxied || !AsciiString.contentEquals(lastAuthority, host)) {
            lastAuthority = host;
            boolean quoted =
                    client.address instanceof InetSocketAddress inet && inet.getAddress() instanceof Inet6Address;
            String node = quoted ? "\"[" + client.text + "]\"" : client.text.toString();
            String text = host.toString().replace("\\", "\\\\").replace("\"", "\\\"");
            lastForwarded = new AsciiString("for=" + node + ";proto=" + proto + ";host=\"" + text + '"');
        }
        return lastForwarded;
    }

    /** Returns the client that the proxy names; the peer if it names none, as in a health check. */
    private Client named(Http2Headers head) {
        CharSequence address = trusted.isWritten(CLOUDFRONT_ADDRESS) ? oneValue(head, CLOUDFRONT_ADDRESS) : null;
        address = address == null ? oneValue(head, X_FORWARDED_FOR) : address;
        byte[] bytes = address == null ? null : bytes(address.toString());
        if (bytes == null) {
            return peer;
        }
        try {
            InetAddress parsed = InetAddress.getByAddress(bytes);
            return new Client(new InetSocketAddress(parsed, 0), AsciiString.of(NetUtil.toAddressString(parsed)));
        } catch (UnknownHostException e) {
            throw new IllegalStateException("an address of " + bytes.length + " bytes", e);
        }
    }

    /**
     * Returns the bytes of an address, or {@code null} if the text is none.
     *
     * @param node an address, with or without a port; one of IPv6 with a port may have no brackets,
     *     as in {@code cloudfront-viewer-address}
     */
    private static byte @Nullable [] bytes(String node) {
        byte[] address = NetUtil.createByteArrayFromIpAddressString(node);
        int bracket = node.indexOf(']');
        if (address == null && node.startsWith("[") && bracket > 0) {
            return NetUtil.createByteArrayFromIpAddressString(node.substring(1, bracket));
        }
        int colon = node.lastIndexOf(':');
        return address == null && colon > 0
                ? NetUtil.createByteArrayFromIpAddressString(node.substring(0, colon))
                : address;
    }

    private AsciiString proto(Http2Headers head) {
        CharSequence proto = trusted.isWritten(CLOUDFRONT_PROTO) ? oneValue(head, CLOUDFRONT_PROTO) : null;
        proto = proto == null ? oneValue(head, X_FORWARDED_PROTO) : proto;
        if (HttpScheme.HTTPS.name().contentEqualsIgnoreCase(proto)) {
            return HttpScheme.HTTPS.name();
        }
        return HttpScheme.HTTP.name().contentEqualsIgnoreCase(proto) ? HttpScheme.HTTP.name() : scheme;
    }

    private static void keepOnePort(Http2Headers head) {
        CharSequence port = oneValue(head, X_FORWARDED_PORT);
        head.remove(X_FORWARDED_PORT);
        if (port != null && port.length() <= 5 && port.chars().allMatch(c -> c >= '0' && c <= '9')) {
            head.set(X_FORWARDED_PORT, port);
        }
    }

    /** Returns the last element, which the next proxy has written, or {@code null}. */
    private static @Nullable CharSequence oneValue(Http2Headers head, AsciiString name) {
        CharSequence last = null;
        for (CharSequence value : head.getAll(name)) {
            last = value;
        }
        if (last == null) {
            return null;
        }
        String text = last.toString();
        String element = text.substring(text.lastIndexOf(',') + 1).strip();
        return element.isEmpty() ? null : element;
    }

    /** An IPv4-mapped address counts as its IPv4 address. */
    private static AsciiString key(@Nullable SocketAddress of) {
        if (!(of instanceof InetSocketAddress inet) || inet.isUnresolved()) {
            return UNKNOWN;
        }
        byte[] address = inet.getAddress().getAddress();
        int mapped = IPV4_MAPPED.length;
        boolean isMapped = address.length > mapped && Arrays.equals(address, 0, mapped, IPV4_MAPPED, 0, mapped);
        return isMapped
                ? new AsciiString(address, mapped, address.length - mapped, true)
                : new AsciiString(address, 0, Math.min(8, address.length), true);
    }
}
