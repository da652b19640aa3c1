package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.Trailers;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Map;

/**
 * Checks headers and trailers on their way to and from the application, even if another part has
 * checked them before.
 */
final class AppHeaders {
    private AppHeaders() {}

    /**
     * Returns whether the name begins with a colon. An empty name is neither a pseudo-header nor a
     * token.
     */
    static boolean isPseudo(CharSequence name) {
        return name.length() > 0 && name.charAt(0) == ':';
    }

    static void verify(CharSequence name, CharSequence value) throws BadMessageException {
        if (!HeaderSyntax.isToken(name) || !HeaderSyntax.isValue(value)) {
            throw new BadMessageException(
                    "field " + HeaderSyntax.printable(name) + " has characters that HTTP does not allow");
        }
    }

    /**
     * @throws BadMessageException if the declared content-length is malformed, or does not fit a
     *     request without a body
     */
    static void expectBody(ContentLength length, Http2Headers head, boolean bodyless) throws BadMessageException {
        if (!length.expectRequest(head) || bodyless && !length.add(0, true)) {
            throw new BadMessageException("content-length " + head.getAll(HttpHeaderNames.CONTENT_LENGTH)
                    + ", expected one number" + (bodyless ? ", 0 without a body" : ""));
        }
    }

    /** Returns a copy of a response's trailers without those that must not be passed on. */
    static Http2Headers trailers(HttpHeaders from) throws BadMessageException {
        FlatHeaders to = verified(from);
        Trailers.removeForbidden(to);
        return to;
    }

    /**
     * Returns a copy of a request's trailers without those that must not be passed on. An
     * application may merge them into the headers, so {@link Origin#mayHave} applies to them, too.
     */
    static Http2Headers trailers(Http2Headers from, Origin origin) throws BadMessageException {
        FlatHeaders to = verified(from);
        Trailers.removeFromRequest(to, name -> !origin.mayHave(name));
        return to;
    }

    private static FlatHeaders verified(
            Iterable<? extends Map.Entry<? extends CharSequence, ? extends CharSequence>> from)
            throws BadMessageException {
        FlatHeaders to = new FlatHeaders();
        for (Map.Entry<? extends CharSequence, ? extends CharSequence> trailer : from) {
            AsciiString name = AsciiString.of(trailer.getKey()).toLowerCase();
            verify(name, trailer.getValue());
            to.addValid(name, AsciiString.of(trailer.getValue()));
        }
        return to;
    }
}
