package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The headers that belong to one connection and not to the message, so that no intermediary passes
 * them on (RFC 9110 section 7.6.1). Names are in lower case. Any thread.
 *
 * <ul>
 *   <li>{@code connection} and each header that it names, {@code keep-alive}, {@code
 *       proxy-connection}, {@code transfer-encoding} and {@code upgrade}: RFC 9110 section 7.6.1
 *       and RFC 9113 section 8.2.2 list them.
 *   <li>{@code te} belongs to the connection, too. A request keeps it if its value is {@code
 *       trailers}, because trailers are always passed on. A response has no use for it.
 *   <li>{@code http2-settings} is part of an upgrade (RFC 7540 section 3.2.1).
 *   <li>{@code proxy-authenticate} and {@code proxy-authorization} are between a client and the
 *       next proxy only (RFC 9110 sections 11.7.1 and 11.7.2). Behind this proxy is an application,
 *       which must neither learn the credentials of a proxy nor ask for them.
 *   <li>{@code trailer} is <em>not</em> among them: it describes the message (RFC 9110 section
 *       6.6.2).
 * </ul>
 */
public final class HopByHop {
    /**
     * Prefix of headers with which the dispatcher or a worker tells the application something. A
     * client must not set them.
     */
    public static final AsciiString OWN_PREFIX = AsciiString.cached("lambda-dispatcher-");

    /** The client's address, if the dispatcher knows it from a proxy. */
    public static final AsciiString CLIENT = AsciiString.cached("lambda-dispatcher-client");

    private static final NameSet NAMES = NameSet.of(
            HttpHeaderNames.CONNECTION,
            "keep-alive",
            "proxy-connection",
            HttpHeaderNames.TRANSFER_ENCODING,
            HttpHeaderNames.UPGRADE,
            "http2-settings",
            HttpHeaderNames.PROXY_AUTHENTICATE,
            HttpHeaderNames.PROXY_AUTHORIZATION);

    /**
     * Headers that the dispatcher checks, answers or changes, or that proxies in front of it write,
     * except those of {@link Trailers#FORBIDDEN}. A client may send these.
     */
    private static final NameSet CHECKED = NameSet.of(
            HttpHeaderNames.ACCEPT_ENCODING,
            HttpHeaderNames.SEC_WEBSOCKET_EXTENSIONS,
            HttpHeaderNames.SEC_WEBSOCKET_KEY,
            HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL,
            HttpHeaderNames.SEC_WEBSOCKET_VERSION,
            "early-data",
            "idempotency-key",
            "x-http-method",
            "x-http-method-override",
            "x-method-override",
            "x-amz-cf-id",
            "x-amzn-tls-cipher-suite",
            "x-amzn-tls-version",
            "x-amzn-trace-id",
            "x-request-id");

    private static final long MARKED_LETTERS = Trailers.FORBIDDEN.markedLetters() | CHECKED.markedLetters();

    private static final long RESPONSE_LETTERS = firstLetters(HttpHeaderNames.CONTENT_LENGTH);

    private HopByHop() {}

    /**
     * Returns whether no message keeps this header. The answer for {@code te} depends on the
     * message.
     */
    public static boolean contains(CharSequence name) {
        return NAMES.contains(name);
    }

    /**
     * Returns whether this header is removed from a request, with other marks instead of {@code -},
     * too.
     */
    public static boolean isDroppedFromRequest(CharSequence name, CharSequence value) {
        return NAMES.containsLike(name)
                || isDisguised(name)
                || HttpHeaderNames.TE.contentEquals(name) && !HttpHeaderValues.TRAILERS.contentEqualsIgnoreCase(value);
    }

    /**
     * Returns whether an application can take this header for another one that the dispatcher has
     * checked, or that a proxy has written: {@code content_length} or {@code if.none.match}. CGI
     * makes the same variable of both ({@link HeaderSyntax#passesFor}). Nobody has checked it.
     */
    public static boolean isDisguised(CharSequence name) {
        return (firstLetter(name) & MARKED_LETTERS) != 0
                && HeaderSyntax.hasUnusualMark(name)
                && (Trailers.FORBIDDEN.containsLike(name) || CHECKED.containsLike(name));
    }

    /** Returns whether this header is removed from a response, interim or final. */
    public static boolean isDroppedFromResponse(CharSequence name) {
        return NAMES.contains(name) || HttpHeaderNames.TE.contentEquals(name);
    }

    /**
     * Returns one bit for the first letter of each header that can be removed from a request, and
     * of {@code others}, for a quick test with {@link #firstLetter}. Letters that share a bit with
     * a digit or a colon do no harm.
     */
    public static long firstLetters(CharSequence... others) {
        long letters = NAMES.firstLetters() | firstLetter(HttpHeaderNames.TE) | firstLetter(OWN_PREFIX);
        for (CharSequence other : others) {
            letters |= firstLetter(other);
        }
        return letters;
    }

    /** Returns the bit for the first letter of a name; 0 for an empty name of an event. */
    public static long firstLetter(CharSequence name) {
        return name.isEmpty() ? 0 : 1L << name.charAt(0);
    }

    /**
     * Removes what a request must not pass on, including the headers that {@code connection} names.
     */
    public static void removeFromRequest(Http2Headers head) {
        List<CharSequence> dropped = null;
        for (Map.Entry<CharSequence, CharSequence> header : head) {
            if (isDroppedFromRequest(header.getKey(), header.getValue())) {
                dropped = dropped == null ? new ArrayList<>(4) : dropped;
                dropped.add(header.getKey());
            }
        }
        removeAll(head, dropped);
    }

    /**
     * Removes what a response must not pass on, including the headers that {@code connection}
     * names. The {@code content-length} of an interim response and of a 204 is removed, too (RFC
     * 9110 section 8.6).
     */
    public static void removeFromResponse(Http2Headers head) {
        List<CharSequence> dropped = null;
        for (Map.Entry<CharSequence, CharSequence> header : head) {
            CharSequence name = header.getKey();
            if ((firstLetter(name) & RESPONSE_LETTERS) != 0 && isUnwantedInResponse(head, name)) {
                dropped = dropped == null ? new ArrayList<>(4) : dropped;
                dropped.add(name);
            }
        }
        removeAll(head, dropped);
    }

    private static boolean isUnwantedInResponse(Http2Headers head, CharSequence name) {
        return isDroppedFromResponse(name)
                || HttpHeaderNames.CONTENT_LENGTH.contentEquals(name)
                        && !StatusCode.mayHaveLength(StatusCode.parse(head.status()));
    }

    private static void removeAll(Http2Headers head, @Nullable List<CharSequence> names) {
        removeAll(head, names, name -> false);
    }

    /**
     * Removes these headers. If {@code connection} is among them, the headers that it names are
     * removed, too, see {@link #removeNominated}.
     *
     * @param kept which headers {@code connection} cannot remove besides
     */
    public static void removeAll(Http2Headers head, @Nullable List<CharSequence> names, Predicate<CharSequence> kept) {
        if (names == null) {
            return;
        }
        for (CharSequence name : names) {
            if (HttpHeaderNames.CONNECTION.contentEquals(name)) {
                removeNominated(head, head.getAll(HttpHeaderNames.CONNECTION), kept);
            }
            head.remove(name);
        }
    }

    /**
     * Removes the {@link #nominated} headers.
     *
     * @param connection values of {@code connection}
     * @param kept which other headers stay
     */
    public static void removeNominated(
            Http2Headers head, Iterable<? extends CharSequence> connection, Predicate<CharSequence> kept) {
        for (String name : nominated(connection)) {
            if (!kept.test(name)) {
                head.remove(name);
            }
        }
    }

    /**
     * Returns the names of the headers that {@code connection} removes, in lower case. Headers that
     * frame, route, modify, authenticate or describe a message are for all its recipients, and stay
     * (RFC 9110 section 7.6.1). Otherwise, a sender could remove what a proxy behind it has set.
     *
     * @param connection values of {@code connection}, of which each character is one byte
     */
    public static List<String> nominated(Iterable<? extends CharSequence> connection) {
        List<String> names = new ArrayList<>();
        for (CharSequence value : connection) {
            for (String option : value.toString().split(",")) {
                String name = option.trim().toLowerCase(Locale.ROOT);
                if (!name.isEmpty() && !Trailers.isForbidden(name)) {
                    names.add(name);
                }
            }
        }
        return names;
    }
}
