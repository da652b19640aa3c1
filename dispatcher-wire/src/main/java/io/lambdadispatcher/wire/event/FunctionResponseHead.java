package io.lambdadispatcher.wire.event;

import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.HopByHop;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.StatusCode;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Makes response headers of the headers that a function has returned. Connection-specific headers
 * are dropped (RFC 9110 section 7.6.1). The {@code content-length} is replaced, because JSON frames
 * the body. Values become UTF-8. A name or value that HTTP does not allow is an error, because a
 * part of it could be taken for another header.
 */
final class FunctionResponseHead {
    private final Http2Headers fields = new DefaultHttp2Headers(false);
    private final List<String> connection = new ArrayList<>(0);
    private int listBytes;

    /**
     * Reads a final status, which must be in the range that handlers and applications can use, too.
     */
    static int status(String text) throws BadResponseException {
        int status = StatusCode.parse(text);
        if (!StatusCode.isFinal(status)) {
            throw new BadResponseException("statusCode is not between 200 and 999");
        }
        return status;
    }

    void add(String name, String value) throws BadResponseException {
        if (!HeaderSyntax.isToken(name)) {
            throw new BadResponseException("a header name is not a token: " + HeaderSyntax.printable(name));
        }
        String lower = name.toLowerCase(Locale.ROOT);
        AsciiString bytes = HeaderText.encode(HeaderSyntax.withoutOuterBlanks(value));
        if (!HeaderSyntax.isValue(bytes)) {
            throw new BadResponseException("the value of " + HeaderSyntax.printable(lower) + " cannot be in a header");
        }
        addValid(lower, bytes);
    }

    private void addValid(CharSequence name, CharSequence value) throws BadResponseException {
        listBytes += name.length() + value.length() + FlatHeaders.HEADER_OVERHEAD_BYTES;
        if (listBytes > FlatHeaders.MAX_LIST_BYTES) {
            throw new BadResponseException("headers of more than " + FlatHeaders.MAX_LIST_BYTES + " bytes");
        }
        if (HttpHeaderNames.CONNECTION.contentEquals(name)) {
            connection.add(value.toString());
        } else if (!HopByHop.isDroppedFromResponse(name)) {
            fields.add(AsciiString.of(name), value);
        }
    }

    /** Adds those headers of another object whose name and value are not here already. */
    void merge(FunctionResponseHead other) throws BadResponseException {
        for (Map.Entry<CharSequence, CharSequence> field : other.fields) {
            if (!fields.contains(field.getKey(), field.getValue())) {
                addValid(field.getKey(), field.getValue());
            }
        }
        connection.addAll(other.connection);
    }

    /** Returns whether fewer headers have this name, although a response can have such headers. */
    boolean hasFewer(String name, int headers) {
        return HeaderSyntax.isToken(name)
                && !HopByHop.isDroppedFromResponse(name)
                && !HttpHeaderNames.CONTENT_LENGTH.contentEquals(name)
                && fields.getAll(name).size() < headers;
    }

    /** @param body as the function returned it, even if this response has none */
    FunctionResponse response(int status, byte[] body, CharSequence method) {
        HopByHop.removeNominated(fields, connection, name -> false);
        fields.status(AsciiString.of(Integer.toString(status)));
        boolean toHead = Methods.isHead(method);
        boolean bodyless = StatusCode.isBodyless(status);
        if (!StatusCode.mayDescribeBody(status) && (!toHead || bodyless || body.length > 0)) {
            fields.setInt(HttpHeaderNames.CONTENT_LENGTH, bodyless ? 0 : body.length);
        } else if (ContentLength.of(fields) < 0) {
            // Only the function knows the length of the body.
            fields.remove(HttpHeaderNames.CONTENT_LENGTH);
        }
        HopByHop.removeFromResponse(fields);
        return new FunctionResponse(fields, bodyless || toHead ? new byte[0] : body);
    }
}
