package io.lambdadispatcher.core.internal.embed;

import io.lambdadispatcher.wire.http.Authority;
import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.HopByHop;
import io.lambdadispatcher.wire.http.Trailers;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Copies and checks the headers and trailers of an embedder's request. The rules are those for a
 * client's request, so that workers never receive headers that they could interpret differently.
 * The embedder's object stays unchanged. Any thread.
 */
final class RequestHeaders {
    private RequestHeaders() {}

    /** @throws IllegalArgumentException if HTTP does not allow a request with these headers */
    static Http2Headers head(Http2Headers from, boolean bodyless) {
        FlatHeaders head = copy(from);
        HopByHop.removeFromRequest(head);
        head.remove(HttpHeaderNames.EXPECT);
        CharSequence host = head.getAndRemove(HttpHeaderNames.HOST);
        CharSequence authority = head.authority();
        verify(authority != null && HeaderSyntax.isAuthority(authority), ":authority", authority);
        boolean same = host == null || authority != null && Authority.isSame(host, authority, head.scheme());
        verify(same, "host", host);
        CharSequence method = head.method();
        verify(method != null && HeaderSyntax.isToken(method), ":method", method);
        CharSequence path = head.path();
        verify(path != null && HeaderSyntax.isPath(path), ":path", path);
        long length = ContentLength.of(head);
        verify(
                length != ContentLength.MALFORMED && (length <= 0 || !bodyless),
                "content-length",
                head.get(HttpHeaderNames.CONTENT_LENGTH));
        return head;
    }

    /** @throws IllegalArgumentException if HTTP does not allow a name or a value */
    static Http2Headers trailers(Http2Headers from) {
        FlatHeaders trailers = copy(from);
        Trailers.removeForbidden(trailers);
        return trailers;
    }

    private static FlatHeaders copy(Http2Headers from) {
        FlatHeaders to = new FlatHeaders();
        for (Map.Entry<CharSequence, CharSequence> header : from) {
            AsciiString name = AsciiString.of(header.getKey()).toLowerCase();
            boolean pseudo = !name.isEmpty() && name.charAt(0) == ':';
            verify(pseudo || HeaderSyntax.isToken(name), "name", name);
            CharSequence value = HeaderText.bytesOf(header.getValue());
            verify(HeaderSyntax.isValue(value), name, value);
            to.add(name, value);
        }
        return to;
    }

    private static void verify(boolean good, CharSequence name, @Nullable CharSequence value) {
        if (!good) {
            throw new IllegalArgumentException("malformed request: " + name + " "
                    + (value == null ? "is missing" : "has the value " + HeaderSyntax.printable(value)));
        }
    }
}
