package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.Trailers;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Map;

/**
 * Headers and trailers on their way to and from the application, each checked again, whoever
 * checked it before.
 */
final class AppHeaders {
    private AppHeaders() {}

    /** An empty name is none, and no token either. */
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
     * @throws BadMessageException if no body can have the length that the request's head declares
     */
    static void expectBody(ContentLength length, Http2Headers head, boolean bodyless) throws BadMessageException {
        if (!length.expectRequest(head) || bodyless && !length.add(0, true)) {
            throw new BadMessageException("content-length " + head.getAll(HttpHeaderNames.CONTENT_LENGTH)
                    + ", expected one number" + (bodyless ? ", 0 without a body" : ""));
        }
    }

    /** A copy without those that must not be passed on. */
    static Http2Headers trailers(Iterable<? extends Map.Entry<? extends CharSequence, ? extends CharSequence>> from)
            throws BadMessageException {
        FlatHeaders to = new FlatHeaders();
        for (Map.Entry<? extends CharSequence, ? extends CharSequence> trailer : from) {
            AsciiString name = AsciiString.of(trailer.getKey()).toLowerCase();
            verify(name, trailer.getValue());
            to.addValid(name, AsciiString.of(trailer.getValue()));
        }
        Trailers.removeForbidden(to);
        return to;
    }
}
