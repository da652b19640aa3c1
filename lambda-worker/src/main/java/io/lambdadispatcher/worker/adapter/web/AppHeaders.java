package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.Trailers;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Map;
import java.util.function.Predicate;

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

    /**
     * Returns a copy without the trailers that must not be passed on.
     *
     * @param mayHave for a request, {@link Origin#mayHave}, because an application may merge
     *     trailers into the headers
     */
    static Http2Headers trailers(
            Iterable<? extends Map.Entry<? extends CharSequence, ? extends CharSequence>> from,
            Predicate<CharSequence> mayHave)
            throws BadMessageException {
        FlatHeaders to = new FlatHeaders();
        for (Map.Entry<? extends CharSequence, ? extends CharSequence> trailer : from) {
            AsciiString name = AsciiString.of(trailer.getKey()).toLowerCase();
            verify(name, trailer.getValue());
            if (mayHave.test(name)) {
                to.addValid(name, AsciiString.of(trailer.getValue()));
            }
        }
        Trailers.removeForbidden(to);
        return to;
    }
}
