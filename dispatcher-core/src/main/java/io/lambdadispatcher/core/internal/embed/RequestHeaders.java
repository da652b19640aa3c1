package io.lambdadispatcher.core.internal.embed;

import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.wire.http.Authority;
import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderMaps;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.HopByHop;
import io.lambdadispatcher.wire.http.Trailers;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Checks the headers and trailers of an embedder's request, of which its builder has checked each
 * by itself. The rules are those for a client's request, so that workers never receive headers
 * that they could interpret differently. Any thread.
 */
final class RequestHeaders {
    private RequestHeaders() {}

    /** @throws IllegalArgumentException if HTTP does not allow a request with these headers */
    static Http2Headers head(DispatchRequest from) {
        FlatHeaders head = new FlatHeaders();
        head.method(from.method())
                .scheme(from.scheme())
                .authority(from.authority())
                .path(AsciiString.of(from.path()));
        from.forEachHeader(head::add);
        HopByHop.removeFromRequest(head);
        head.remove(HttpHeaderNames.EXPECT);
        CharSequence host = head.getAndRemove(HttpHeaderNames.HOST);
        verify(host == null || Authority.isSame(host, from.authority(), from.scheme()), "host", host);
        long length = ContentLength.of(head);
        verify(
                length != ContentLength.MALFORMED && (length <= 0 || from.body() != null),
                "content-length",
                head.get(HttpHeaderNames.CONTENT_LENGTH));
        return head;
    }

    /** @throws IllegalArgumentException if HTTP does not allow a name or a value */
    static Http2Headers trailers(Map<String, List<String>> from) {
        Http2Headers trailers = HeaderMaps.parse(from);
        Trailers.removeFromRequest(trailers, name -> false);
        return trailers;
    }

    private static void verify(boolean good, CharSequence name, @Nullable CharSequence value) {
        if (!good) {
            throw new IllegalArgumentException("malformed request: " + name + " has the value "
                    + (value == null ? "" : HeaderSyntax.printable(value)));
        }
    }
}
