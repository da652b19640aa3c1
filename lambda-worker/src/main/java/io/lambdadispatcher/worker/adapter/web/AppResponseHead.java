package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HopByHop;
import io.lambdadispatcher.wire.http.StatusCode;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.List;
import java.util.Map;

/** Translates the headers of an application's HTTP/1.1 response into HTTP/2. */
final class AppResponseHead {
    private AppResponseHead() {}

    /**
     * @throws BadMessageException if the client must not see the response, or the end of its body
     *     is unclear
     */
    static Http2Headers of(HttpResponse response) throws BadMessageException {
        if (response.decoderResult().isFailure()) {
            throw new BadMessageException("the app's response is malformed: "
                    + response.decoderResult().cause().getMessage());
        }
        AsciiString status = response.status().codeAsText();
        if (StatusCode.parse(status) == StatusCode.INVALID) {
            throw new BadMessageException("the app answered with status " + status + ", expected 100 to 999");
        }
        verifyCoding(response);
        FlatHeaders head = new FlatHeaders();
        head.status(status);
        copy(response.headers(), head);
        return head;
    }

    /** RFC 9112 section 6.1: the only transfer coding that we understand is chunked. */
    private static void verifyCoding(HttpResponse response) throws BadMessageException {
        List<String> codings = response.headers().getAll(HttpHeaderNames.TRANSFER_ENCODING);
        boolean understood = codings.isEmpty()
                || codings.size() == 1
                        && HttpHeaderValues.CHUNKED.contentEqualsIgnoreCase(
                                codings.get(0).trim())
                        && response.protocolVersion().compareTo(HttpVersion.HTTP_1_1) >= 0;
        if (!understood) {
            throw new BadMessageException(
                    "the app answered with transfer-encoding " + codings + " in " + response.protocolVersion());
        }
    }

    private static void copy(HttpHeaders from, FlatHeaders to) throws BadMessageException {
        for (Map.Entry<String, String> field : from) {
            AsciiString name = AsciiString.of(field.getKey()).toLowerCase();
            AppHeaders.verify(name, field.getValue());
            to.addValid(name, AsciiString.of(field.getValue()));
        }
        HopByHop.removeFromResponse(to);
        if (ContentLength.of(to) == ContentLength.MALFORMED) {
            throw new BadMessageException("the app answered with content-length "
                    + from.getAll(HttpHeaderNames.CONTENT_LENGTH) + ", expected one number of at most 18 digits");
        }
    }
}
