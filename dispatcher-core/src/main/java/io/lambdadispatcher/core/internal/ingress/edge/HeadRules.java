package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.ForwardingPolicy.Headers;
import io.lambdadispatcher.core.options.ForwardingPolicy.Trust;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.HopByHop;
import io.lambdadispatcher.wire.http.Trailers;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import io.netty.util.NetUtil;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Applies the rules for intermediaries to the headers of a message (RFC 9110 section 7.6). It
 * removes connection-specific headers and headers that no client may set, and adds forwarding
 * headers. Names are in lower case. There is one object for each client connection, whose addresses
 * are formatted once. Event loop only.
 */
public final class HeadRules {
    /**
     * Maximum number of headers that are added to a request, as a hint for the size of its headers.
     */
    public static final int MOST_FIELDS_ADDED = 6;

    static final AsciiString X_FORWARDED_FOR = AsciiString.cached("x-forwarded-for");
    private static final AsciiString X_FORWARDED_PROTO = AsciiString.cached("x-forwarded-proto");
    private static final AsciiString X_FORWARDED_HOST = AsciiString.cached("x-forwarded-host");
    static final AsciiString FORWARDED = AsciiString.cached("forwarded");
    private static final AsciiString X_FORWARDED = AsciiString.cached("x-forwarded-");
    private static final AsciiString VIA = AsciiString.cached("1.1 lambda-dispatcher");

    /** No other pseudo-header has a name of this length. */
    private static final AsciiString PROTOCOL = Http2Headers.PseudoHeaderName.PROTOCOL.value();

    private static final long FIRST_LETTERS =
            HopByHop.firstLetters(X_FORWARDED, FORWARDED, HttpHeaderNames.COOKIE, PROTOCOL);

    private final ForwardingPolicy policy;
    private final @Nullable AsciiString requestId;
    private final AsciiString scheme;
    private final AsciiString client;
    private final String forwardedPrefix;
    private final ClientKeys clients;
    private final ResponseDate date;

    // The value of "forwarded" for the previous authority, because most clients use only one.
    private @Nullable CharSequence lastAuthority;
    private AsciiString lastForwarded = AsciiString.EMPTY_STRING;

    public HeadRules(ForwardingPolicy policy, String scheme, @Nullable SocketAddress remote, ResponseDate date) {
        this.policy = policy;
        this.date = date;
        this.requestId = policy.requestIdHeader().isEmpty() ? null : AsciiString.of(policy.requestIdHeader());
        this.scheme = AsciiString.cached(scheme);
        InetAddress address = remote instanceof InetSocketAddress inet ? inet.getAddress() : null;
        String text = address == null ? "unknown" : NetUtil.toAddressString(address);
        this.client = AsciiString.cached(text);
        this.clients = new ClientKeys(policy, address);
        this.forwardedPrefix = "for=" + (address instanceof Inet6Address ? "\"[" + text + "]\"" : text) + ";proto="
                + scheme + ";host=\"";
    }

    /**
     * Applies the rules to the headers of a request, including pseudo-headers.
     *
     * @return false if the request has a {@code :protocol} without being a CONNECT (RFC 8441
     *     section 4). For a CONNECT, {@link ExtendedConnect} has removed it before
     */
    public boolean request(Http2Headers head) {
        List<CharSequence> unwanted = null;
        boolean strangeProtocol = false;
        int cookies = 0;
        for (Map.Entry<CharSequence, CharSequence> field : head) {
            CharSequence name = field.getKey();
            if (mayMatter(name)) {
                if (isUnwantedInRequest(name, field.getValue())) {
                    unwanted = unwanted == null ? new ArrayList<>(4) : unwanted;
                    unwanted.add(name);
                } else if (HttpHeaderNames.COOKIE.contentEquals(name)) {
                    cookies++;
                } else if (name.charAt(0) == ':') {
                    strangeProtocol = true;
                }
            }
        }
        HopByHop.removeAll(head, unwanted);
        if (cookies > 1) {
            joinCookies(head);
        }
        addForwarding(head);
        if (requestId != null && !head.contains(requestId)) {
            add(head, requestId, newRequestId());
        }
        return !strangeProtocol;
    }

    /**
     * Outside of HTTP/2, several cookie headers must be joined (RFC 9113 section 8.2.3). Empty ones
     * are dropped: an empty one at the end would make the value end with a blank, which is
     * malformed.
     */
    private static void joinCookies(Http2Headers head) {
        StringJoiner joined = new StringJoiner("; ");
        for (CharSequence cookie : head.getAllAndRemove(HttpHeaderNames.COOKIE)) {
            if (!cookie.isEmpty()) {
                joined.add(cookie);
            }
        }
        if (joined.length() > 0) {
            head.set(HttpHeaderNames.COOKIE, joined.toString());
        }
    }

    /**
     * Returns the key of the client that sent a request.
     *
     * @param head request headers after {@link #request}
     */
    public Object client(Http2Headers head) {
        return clients.of(head, forwardedPrefix);
    }

    /** Checks the first letter only, which excludes most headers. */
    private static boolean mayMatter(CharSequence name) {
        return (HopByHop.firstLetter(name) & FIRST_LETTERS) != 0
                && (name.charAt(0) != ':' || name.length() == PROTOCOL.length());
    }

    private boolean isUnwantedInRequest(CharSequence name, CharSequence value) {
        if (HopByHop.isDroppedFromRequest(name, value) || HeaderSyntax.beginsLike(name, HopByHop.OWN_PREFIX)) {
            return true;
        }
        if (HeaderSyntax.beginsLike(name, X_FORWARDED)) {
            // A client that sends x_forwarded_for wants a handler to read it as x-forwarded-for.
            return policy.trust() == Trust.REPLACE || AsciiString.indexOf(name, '_', 0) >= 0;
        }
        return policy.trust() == Trust.REPLACE && FORWARDED.contentEquals(name);
    }

    private void addForwarding(Http2Headers head) {
        Headers added = policy.headers();
        CharSequence authority = head.authority();
        if (added == Headers.X_FORWARDED || added == Headers.BOTH) {
            append(head, X_FORWARDED_FOR, client);
            append(head, X_FORWARDED_PROTO, scheme);
            if (authority != null) {
                append(head, X_FORWARDED_HOST, authority);
            }
        }
        if ((added == Headers.FORWARDED || added == Headers.BOTH) && authority != null) {
            append(head, FORWARDED, forwarded(authority));
        }
        if (policy.via()) {
            add(head, HttpHeaderNames.VIA, VIA);
        }
    }

    private void append(Http2Headers head, AsciiString name, CharSequence value) {
        CharSequence before = policy.trust() == Trust.APPEND ? head.get(name) : null;
        if (before == null) {
            add(head, name, value);
        } else {
            head.set(name, String.join(", ", head.getAllAndRemove(name)) + ", " + value);
        }
    }

    /** Returns a random id of 128 bits, as many as trace ids have. It may be predictable. */
    private static AsciiString newRequestId() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        byte[] digits = new byte[32];
        writeHex(random.nextLong(), digits, 0);
        writeHex(random.nextLong(), digits, 16);
        return new AsciiString(digits, false);
    }

    private static void writeHex(long value, byte[] to, int at) {
        for (int i = 0; i < 16; i++) {
            to[at + i] = (byte) Character.forDigit((int) (value >>> 60 - 4 * i) & 0xf, 16);
        }
    }

    /** Adds a header without validation: it is the dispatcher's, or was validated before. */
    private static void add(Http2Headers head, AsciiString name, CharSequence value) {
        if (head instanceof FlatHeaders flat) {
            flat.addValid(name, value);
        } else {
            head.add(name, value);
        }
    }

    private AsciiString forwarded(CharSequence authority) {
        if (lastAuthority == null || !AsciiString.contentEquals(lastAuthority, authority)) {
            lastAuthority = authority;
            String quoted = authority.toString().replace("\\", "\\\\").replace("\"", "\\\"");
            lastForwarded = new AsciiString(forwardedPrefix + quoted + '"');
        }
        return lastForwarded;
    }

    /** Applies the rules to the headers of a response with a status of 1xx. */
    public void informational(Http2Headers head) {
        HopByHop.removeFromResponse(head);
        if (policy.via()) {
            add(head, HttpHeaderNames.VIA, VIA);
        }
    }

    /** Applies the rules to the headers of a final response. */
    public void response(Http2Headers head) {
        informational(head);
        if (!head.contains(HttpHeaderNames.DATE)) {
            ownResponse(head);
        }
    }

    /**
     * Applies the rules to the headers of a response that the dispatcher itself makes. It gets a
     * date (RFC 9110 section 6.6.1).
     */
    public void ownResponse(Http2Headers head) {
        add(head, HttpHeaderNames.DATE, date.value());
    }

    /** Applies the rules to the trailers of a request or a response. */
    public void trailers(Http2Headers trailers) {
        Trailers.removeForbidden(trailers);
    }
}
