package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HopByHop;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.Trailers;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
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
 * headers. Names are in lower case. There is one object for each client connection. Event loop
 * only.
 */
public final class HeadRules {
    private static final AsciiString VIA = AsciiString.cached("1.1 lambda-dispatcher");

    /** Names each gateway that a request has passed (RFC 8586). */
    static final AsciiString CDN_LOOP = AsciiString.cached("cdn-loop");

    private static final AsciiString LOOP_ID = AsciiString.cached("lambda-dispatcher");

    /**
     * Maximum number of dispatchers that a request may have passed. An application may send what it
     * gets to another function of the same dispatcher, but hardly ever more often than this.
     */
    private static final int MAX_PASSES = 8;

    /** No other pseudo-header has a name of this length. */
    private static final AsciiString PROTOCOL = Http2Headers.PseudoHeaderName.PROTOCOL.value();

    private final TrustedHeaders trusted;
    private final long firstLetters;
    private final ForwardingHeaders forwarding;
    private final boolean via;
    private final @Nullable AsciiString requestId;
    private final ResponseDate date;

    public HeadRules(IngressContext context, ResponseDate date) {
        this(context.headers(), context.scheme(), context.client(), context.certificate(), date);
    }

    HeadRules(
            TrustedHeaders trusted,
            String scheme,
            @Nullable SocketAddress remote,
            @Nullable AsciiString certificate,
            ResponseDate date) {
        ForwardingPolicy policy = trusted.policy();
        this.trusted = trusted;
        this.firstLetters =
                trusted.firstLetters() | HopByHop.firstLetter(HttpHeaderNames.COOKIE) | HopByHop.firstLetter(PROTOCOL);
        this.forwarding = new ForwardingHeaders(trusted, scheme, remote, certificate);
        this.via = policy.via();
        this.requestId = policy.requestIdHeader().isEmpty() ? null : AsciiString.of(policy.requestIdHeader());
        this.date = date;
    }

    /**
     * Returns how many headers these rules add to most requests, as a hint for the size of their
     * headers. Each one too many costs every request 8 bytes, one too few costs a copy.
     */
    public static int fieldsAdded(ForwardingPolicy policy) {
        int loop = 1;
        return loop
                + ForwardingHeaders.fieldsAdded(policy.headers())
                + (policy.via() ? 1 : 0)
                + (policy.requestIdHeader().isEmpty() ? 0 : 1);
    }

    /**
     * Applies the rules to the headers of a request, including pseudo-headers.
     *
     * @return why the request must not be passed on: it has passed too many dispatchers, or has a
     *     {@code :protocol} without being a CONNECT (RFC 8441 section 4). {@code null} = it can be
     *     passed on
     */
    public @Nullable Failure request(Http2Headers head) {
        List<CharSequence> unwanted = null;
        boolean strangeProtocol = false;
        boolean passedGateways = false;
        int cookies = 0;
        for (Map.Entry<CharSequence, CharSequence> field : head) {
            CharSequence name = field.getKey();
            if (mayMatter(name)) {
                if (name.charAt(0) == ':') {
                    strangeProtocol = true;
                } else if (HttpHeaderNames.COOKIE.contentEquals(name)) {
                    cookies++;
                } else if (CDN_LOOP.contentEquals(name)) {
                    passedGateways = true;
                } else if (trusted.isDropped(name, field.getValue())) {
                    unwanted = unwanted == null ? new ArrayList<>(4) : unwanted;
                    unwanted.add(name);
                }
            }
        }
        HopByHop.removeAll(head, unwanted, trusted::isForAll);
        if (cookies > 1) {
            joinCookies(head);
        }
        forwarding.apply(head);
        int passes = 0;
        if (passedGateways) {
            passes = addPass(head);
        } else {
            add(head, CDN_LOOP, LOOP_ID);
        }
        if (via) {
            add(head, HttpHeaderNames.VIA, VIA);
        }
        if (requestId != null && !head.contains(requestId)) {
            add(head, requestId, newRequestId());
        }
        if (strangeProtocol) {
            return new Failure(Failure.Kind.BAD_REQUEST, ":protocol without CONNECT");
        }
        return passes < MAX_PASSES
                ? null
                : new Failure(
                        Failure.Kind.LOOP_DETECTED,
                        "the request has passed a dispatcher " + passes + " times, so it seems to run in a loop");
    }

    /**
     * Changes the headers of a request for a WebSocket into the extended CONNECT for the worker,
     * whatever version of HTTP the client uses (RFC 8441 sections 4 and 5), and applies the rules.
     * The key and its acceptance belong to one hop.
     *
     * @return why the request must not be passed on; {@code null} = it can be
     */
    public @Nullable Failure connect(Http2Headers head) {
        head.method(Methods.CONNECT);
        head.remove(PROTOCOL);
        head.remove(HttpHeaderNames.CONTENT_LENGTH);
        head.remove(HttpHeaderNames.EXPECT);
        head.remove(HttpHeaderNames.SEC_WEBSOCKET_KEY);
        head.remove(HttpHeaderNames.SEC_WEBSOCKET_ACCEPT);
        Failure refused = request(head);
        head.set(PROTOCOL, HttpHeaderValues.WEBSOCKET);
        return refused;
    }

    /**
     * Adds the dispatcher to the gateways that a request has passed.
     *
     * @return how many of them were dispatchers
     */
    private static int addPass(Http2Headers head) {
        String gateways = String.join(",", head.getAll(CDN_LOOP));
        head.set(CDN_LOOP, gateways + ", " + LOOP_ID);
        int passes = 0;
        for (String gateway : gateways.split(",")) {
            // Parameters can follow, which only the gateway itself understands.
            int end = gateway.indexOf(';');
            String id = (end < 0 ? gateway : gateway.substring(0, end)).strip();
            passes += LOOP_ID.contentEqualsIgnoreCase(id) ? 1 : 0;
        }
        return passes;
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

    public @Nullable SocketAddress client() {
        return forwarding.client();
    }

    /**
     * Returns the key of the client that sent a request.
     *
     * @param client its address
     * @param head headers of the request after {@link #request}
     */
    public Object key(@Nullable SocketAddress client, Http2Headers head) {
        return forwarding.key(client, head);
    }

    /** Checks little more than the first letter, which excludes most headers. */
    private boolean mayMatter(CharSequence name) {
        return (HopByHop.firstLetter(name) & firstLetters) == 0
                ? HopByHop.isDisguised(name)
                : name.charAt(0) != ':' || name.length() == PROTOCOL.length();
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
    static void add(Http2Headers head, AsciiString name, CharSequence value) {
        if (head instanceof FlatHeaders flat) {
            flat.addValid(name, value);
        } else {
            head.add(name, value);
        }
    }

    /** Applies the rules to the headers of a response with a status of 1xx. */
    public void informational(Http2Headers head) {
        HopByHop.removeFromResponse(head);
        if (via) {
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

    /** Applies the rules to trailers of a request. An application may take them for headers. */
    public void requestTrailers(Http2Headers trailers) {
        Trailers.removeFromRequest(trailers, name -> trusted.isDropped(name, "") || trusted.isForAll(name));
    }
}
