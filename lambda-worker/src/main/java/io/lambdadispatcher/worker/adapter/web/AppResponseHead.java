package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.http.FlatHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** An application's HTTP/1.1 response head in HTTP/2's terms. */
final class AppResponseHead {
    private static final int LEAST_STATUS = 100;
    private static final int MOST_STATUS = 999;

    private AppResponseHead() {}

    /** @throws BadMessageException if the client must not see it, or its body's end is unclear */
    static Http2Headers of(HttpResponse response) throws BadMessageException {
        if (response.decoderResult().isFailure()) {
            throw new BadMessageException("the app's response is malformed: "
                    + response.decoderResult().cause().getMessage());
        }
        int status = response.status().code();
        if (status < LEAST_STATUS || status > MOST_STATUS) {
            throw new BadMessageException("the app answered with status " + status + ", expected 100 to 999");
        }
        verifyCoding(response);
        FlatHeaders head = new FlatHeaders();
        head.status(response.status().codeAsText());
        copy(response.headers(), head);
        return head;
    }

    /** RFC 9112 section 6.1: we understand chunked, and no other coding. */
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
        List<String> named = namedByConnection(from);
        for (Map.Entry<String, String> field : from) {
            AsciiString name = AsciiString.of(field.getKey()).toLowerCase();
            Fields.verify(name, field.getValue());
            if (!Fields.isHopByHop(name) && !isNamed(named, name)) {
                to.addValid(name, AsciiString.of(field.getValue()));
            }
        }
    }

    private static List<String> namedByConnection(HttpHeaders fields) {
        List<String> named = new ArrayList<>(0);
        for (String value : fields.getAll(HttpHeaderNames.CONNECTION)) {
            for (String option : value.split(",")) {
                named.add(option.trim());
            }
        }
        return named;
    }

    private static boolean isNamed(List<String> named, AsciiString name) {
        for (String option : named) {
            if (name.contentEqualsIgnoreCase(option)) {
                return true;
            }
        }
        return false;
    }
}
