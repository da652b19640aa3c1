package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Which names may be in trailers. A recipient may merge trailers into the headers, and must not be
 * misled by that: nothing in trailers frames, routes, modifies, authenticates or describes a
 * message whose headers have already been acted upon (RFC 9110 section 6.5.1). Names are lower
 * case. Any thread.
 */
public final class Trailers {
    private static final AsciiString X_FORWARDED = AsciiString.cached("x-forwarded-");

    static final NameSet FORBIDDEN = NameSet.of(
            // Framing and routing.
            HttpHeaderNames.CONTENT_LENGTH,
            HttpHeaderNames.HOST,
            HttpHeaderNames.TE,
            HttpHeaderNames.TRAILER,
            HttpHeaderNames.VIA,
            "forwarded",
            // Request modifiers.
            HttpHeaderNames.CACHE_CONTROL,
            HttpHeaderNames.EXPECT,
            HttpHeaderNames.IF_MATCH,
            HttpHeaderNames.IF_MODIFIED_SINCE,
            HttpHeaderNames.IF_NONE_MATCH,
            HttpHeaderNames.IF_RANGE,
            HttpHeaderNames.IF_UNMODIFIED_SINCE,
            HttpHeaderNames.MAX_FORWARDS,
            HttpHeaderNames.PRAGMA,
            HttpHeaderNames.RANGE,
            // Authentication.
            HttpHeaderNames.AUTHORIZATION,
            HttpHeaderNames.COOKIE,
            HttpHeaderNames.SET_COOKIE,
            HttpHeaderNames.WWW_AUTHENTICATE,
            // Response controls.
            HttpHeaderNames.AGE,
            HttpHeaderNames.DATE,
            HttpHeaderNames.EXPIRES,
            HttpHeaderNames.LOCATION,
            HttpHeaderNames.RETRY_AFTER,
            HttpHeaderNames.VARY,
            // Content format.
            HttpHeaderNames.CONTENT_ENCODING,
            HttpHeaderNames.CONTENT_RANGE,
            HttpHeaderNames.CONTENT_TYPE);

    private Trailers() {}

    /**
     * Whether trailers lose this name. Pseudo-headers and hop-by-hop headers are forbidden, too.
     */
    public static boolean isForbidden(CharSequence name) {
        return name.charAt(0) == ':'
                || FORBIDDEN.contains(name)
                || HopByHop.contains(name)
                || HeaderSyntax.beginsLike(name, X_FORWARDED)
                || HeaderSyntax.beginsLike(name, HopByHop.OWN_PREFIX);
    }

    /** Removes what must not be passed on as a trailer of a response. */
    public static void removeForbidden(Http2Headers trailers) {
        removeIf(trailers, Trailers::isForbidden);
    }

    /**
     * Removes what must not be passed on as a trailer of a request. That includes what it must not
     * have as a header.
     *
     * @param others which other names are removed
     */
    public static void removeFromRequest(Http2Headers trailers, Predicate<CharSequence> others) {
        removeIf(trailers, name -> isForbidden(name) || HopByHop.isDroppedFromRequest(name, "") || others.test(name));
    }

    private static void removeIf(Http2Headers trailers, Predicate<CharSequence> unwanted) {
        List<CharSequence> removed = null;
        for (Map.Entry<CharSequence, CharSequence> trailer : trailers) {
            if (unwanted.test(trailer.getKey())) {
                removed = removed == null ? new ArrayList<>(4) : removed;
                removed.add(trailer.getKey());
            }
        }
        if (removed != null) {
            removed.forEach(trailers::remove);
        }
    }
}
