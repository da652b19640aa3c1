package io.lambdadispatcher.core.internal.ingress.http1;

import io.lambdadispatcher.core.internal.ingress.edge.Rejection;
import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Checks the headers of HTTP/1 requests and translates them to HTTP/2's form (RFC 9112). It rejects
 * what Netty's decoder accepts and two servers may understand differently. A caller translates only
 * what {@link #verify} accepts, and passes on only what {@link #verifyTarget} accepts.
 *
 * <p><i>Threading:</i> any thread. There is one object for each client connection.
 */
final class HeadTranslator {
    /** {@code :method}, {@code :scheme} and {@code :path}; {@code :authority} replaces a header. */
    private static final int PSEUDO_HEADERS = 3;

    private final int maxFields;
    private final int fieldsAdded;
    private final String scheme;

    /**
     * @param fieldsAdded how many headers translated requests get later, as a hint
     * @param scheme {@code http} or {@code https}
     */
    HeadTranslator(int maxFields, int fieldsAdded, String scheme) {
        this.maxFields = maxFields;
        this.fieldsAdded = fieldsAdded;
        this.scheme = scheme;
    }

    /**
     * Checks everything except the request target.
     *
     * @param contentLength size of the body, or a constant of {@link ContentLength}
     * @return {@code null} if the headers can be translated
     */
    @Nullable
    Rejection verify(HttpRequest request, long contentLength) {
        HttpHeaders fields = request.headers();
        boolean http10 = isHttp10(request);
        if (fields.size() > maxFields) {
            return new Rejection(
                    HttpResponseStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                    "request with " + fields.size() + " headers, limit " + maxFields);
        }
        if (request.protocolVersion().majorVersion() != 1) {
            return new Rejection(
                    HttpResponseStatus.HTTP_VERSION_NOT_SUPPORTED,
                    request.protocolVersion() + ", expected HTTP/1.0 or HTTP/1.1");
        }
        if (request.method().equals(HttpMethod.CONNECT)) {
            return new Rejection(HttpResponseStatus.NOT_IMPLEMENTED, "CONNECT is not supported");
        }
        List<String> codings = fields.getAll(HttpHeaderNames.TRANSFER_ENCODING);
        if (!codings.isEmpty()) {
            if (http10) {
                return Rejection.badRequest("transfer-encoding in HTTP/1.0");
            }
            if (codings.size() > 1 || !HttpHeaderValues.CHUNKED.contentEqualsIgnoreCase(codings.get(0))) {
                return new Rejection(
                        HttpResponseStatus.NOT_IMPLEMENTED, "transfer-encoding " + codings + ", expected chunked");
            }
        }
        if (fields.contains(HttpHeaderNames.SEC_WEBSOCKET_KEY1)
                && fields.contains(HttpHeaderNames.SEC_WEBSOCKET_KEY2)) {
            // Netty's decoder takes the request for a handshake of a draft before RFC 6455, which
            // has an unannounced body of 8 bytes.
            return Rejection.badRequest("sec-websocket-key1 and -key2, expected sec-websocket-key");
        }
        if (contentLength == ContentLength.MALFORMED) {
            return Rejection.badRequest("content-length, expected one number of at most 18 digits");
        }
        List<String> hosts = fields.getAll(HttpHeaderNames.HOST);
        if (hosts.size() > 1 || hosts.isEmpty() && !http10) {
            return Rejection.badRequest(hosts.size() + " host headers, expected 1");
        }
        List<String> expectations = fields.getAll(HttpHeaderNames.EXPECT);
        if (!http10
                && !expectations.isEmpty()
                && (expectations.size() > 1
                        || !HttpHeaderValues.CONTINUE.contentEqualsIgnoreCase(expectations.get(0)))) {
            return new Rejection(
                    HttpResponseStatus.EXPECTATION_FAILED, "unsupported expect header, expected 100-continue");
        }
        return null;
    }

    private static boolean isHttp10(HttpRequest request) {
        return !request.protocolVersion().isKeepAliveDefault();
    }

    /**
     * Translates the headers of a request. An absolute target replaces the host (RFC 9112 section
     * 3.2.2).
     */
    Http2Headers toHttp2(HttpRequest request) {
        HttpHeaders fields = request.headers();
        String target = request.uri();
        String host = fields.get(HttpHeaderNames.HOST, "");
        if (isAbsolute(target)) {
            int authorityAt = target.indexOf("//") + 2;
            int pathAt = endOfAuthority(target, authorityAt);
            host = target.substring(authorityAt, pathAt);
            target = pathAt == target.length() ? "/" : target.substring(pathAt);
            if (target.charAt(0) == '?') {
                target = "/" + target;
            }
        }
        Http2Headers head = new FlatHeaders(PSEUDO_HEADERS + fields.size() + fieldsAdded)
                .method(request.method().asciiName())
                .scheme(scheme)
                .path(AsciiString.of(target));
        if (!host.isEmpty()) {
            head.authority(AsciiString.of(host));
        }
        Iterator<Map.Entry<CharSequence, CharSequence>> all = fields.iteratorCharSequence();
        while (all.hasNext()) {
            Map.Entry<CharSequence, CharSequence> field = all.next();
            AsciiString name = AsciiString.of(field.getKey()).toLowerCase();
            if (!name.contentEquals(HttpHeaderNames.HOST)) {
                head.add(name, AsciiString.of(field.getValue()));
            }
        }
        return head;
    }

    private static boolean isAbsolute(String target) {
        return target.regionMatches(true, 0, "http://", 0, 7) && target.length() > 7
                || target.regionMatches(true, 0, "https://", 0, 8) && target.length() > 8;
    }

    private static int endOfAuthority(String target, int from) {
        for (int i = from; i < target.length(); i++) {
            char c = target.charAt(i);
            if (c == '/' || c == '?' || c == '#') {
                return i;
            }
        }
        return target.length();
    }

    /**
     * Accepts origin-form, absolute-form, and asterisk-form with OPTIONS (RFC 9112 section 3.2).
     *
     * @param head the translated headers of the request
     * @return {@code null} if the headers can be passed on
     */
    @Nullable
    Rejection verifyTarget(HttpRequest request, Http2Headers head) {
        if (!HeaderSyntax.isPath(head.path(), head.method())) {
            return Rejection.badRequest("malformed request target");
        }
        CharSequence authority = head.authority();
        if (authority == null) {
            return isHttp10(request) ? null : Rejection.badRequest("empty host");
        }
        // An absolute target replaces the host, which must be valid nevertheless.
        String host = isAbsolute(request.uri()) ? request.headers().get(HttpHeaderNames.HOST, "") : "";
        return HeaderSyntax.isAuthority(authority) && (host.isEmpty() || HeaderSyntax.isAuthority(host))
                ? null
                : Rejection.badRequest(
                        "malformed host, or longer than " + HeaderSyntax.MOST_AUTHORITY_CHARS + " characters");
    }

    /** Translates the trailers of a request. */
    static Http2Headers toHttp2(HttpHeaders trailers) {
        Http2Headers fields = new FlatHeaders(trailers.size());
        for (Map.Entry<String, String> field : trailers) {
            fields.add(AsciiString.of(field.getKey()).toLowerCase(), AsciiString.of(field.getValue()));
        }
        return fields;
    }
}
