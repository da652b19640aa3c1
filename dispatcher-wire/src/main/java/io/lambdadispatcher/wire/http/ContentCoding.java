package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Iterator;
import java.util.List;

/**
 * The rules for an intermediary that encodes the content of a response (RFC 9110 sections 7.7 and
 * 8.4). Any thread.
 */
public final class ContentCoding {
    private static final AsciiString NO_TRANSFORM = AsciiString.cached("no-transform");
    private static final AsciiString ANY = AsciiString.cached("*");

    private static final AsciiString CONTENT_DIGEST = AsciiString.cached("content-digest");
    private static final AsciiString REPR_DIGEST = AsciiString.cached("repr-digest");
    private static final AsciiString DIGEST = AsciiString.cached("digest");

    /** A response with one of these is already encoded, or has a digest of its bytes. */
    private static final List<AsciiString> FIXED_CONTENT = List.of(
            HttpHeaderNames.CONTENT_ENCODING,
            HttpHeaderNames.CONTENT_RANGE,
            CONTENT_DIGEST,
            REPR_DIGEST,
            DIGEST,
            HttpHeaderNames.CONTENT_MD5);

    /**
     * The trailers that name the bytes of a response: its digests (RFC 9530) and its entity tag
     * (RFC 9110 section 8.8.3). Who encodes a response removes them, because they would name other
     * bytes than those that the client gets.
     */
    public static final List<AsciiString> TRAILERS_OF_BYTES =
            List.of(CONTENT_DIGEST, REPR_DIGEST, DIGEST, HttpHeaderNames.CONTENT_MD5, HttpHeaderNames.ETAG);

    private ContentCoding() {}

    /**
     * Returns whether the content of a response to GET may be encoded. It must not if it has no
     * body, if it is a range, if it is encoded already, if it has a digest or announces {@link
     * #TRAILERS_OF_BYTES}, or if the application has forbidden it.
     */
    public static boolean mayEncode(Http2Headers response) {
        int status = StatusCode.parse(response.status());
        if (StatusCode.isBodyless(status) || status == HttpResponseStatus.PARTIAL_CONTENT.code()) {
            return false;
        }
        for (int i = 0; i < FIXED_CONTENT.size(); i++) {
            if (response.contains(FIXED_CONTENT.get(i))) {
                return false;
            }
        }
        for (int i = 0; i < TRAILERS_OF_BYTES.size(); i++) {
            if (lists(response, HttpHeaderNames.TRAILER, TRAILERS_OF_BYTES.get(i))) {
                return false;
            }
        }
        return !forbidsTransformation(response);
    }

    /**
     * Returns whether {@code cache-control} of a request or response has {@code no-transform} (RFC
     * 9111 sections 5.2.1.6 and 5.2.2.6).
     */
    public static boolean forbidsTransformation(Http2Headers head) {
        return lists(head, HttpHeaderNames.CACHE_CONTROL, NO_TRANSFORM);
    }

    /** Returns whether a response says that its body has less than this size. */
    public static boolean isShorter(Http2Headers response, int bytes) {
        long length = ContentLength.of(response);
        return length >= 0 && length < bytes;
    }

    /**
     * Tells caches that the response depends on {@code accept-encoding} (RFC 9110 section 12.5.5),
     * if it does not say so already.
     */
    public static void addVary(Http2Headers response) {
        if (lists(response, HttpHeaderNames.VARY, HttpHeaderNames.ACCEPT_ENCODING)
                || lists(response, HttpHeaderNames.VARY, ANY)) {
            return;
        }
        List<CharSequence> others = response.getAll(HttpHeaderNames.VARY);
        response.set(
                HttpHeaderNames.VARY,
                others.isEmpty()
                        ? HttpHeaderNames.ACCEPT_ENCODING
                        : String.join(", ", others) + ", " + HttpHeaderNames.ACCEPT_ENCODING);
    }

    /**
     * Changes the headers to those of the encoded response. Its length is not known, and ranges of
     * it are not available.
     */
    public static void encode(Http2Headers response, AsciiString encoding) {
        response.set(HttpHeaderNames.CONTENT_ENCODING, encoding);
        response.remove(HttpHeaderNames.CONTENT_LENGTH);
        response.remove(HttpHeaderNames.ACCEPT_RANGES);
        EncodedRepresentation.tag(response, encoding);
    }

    /** Returns whether {@code content-type} is {@code text/event-stream}. */
    public static boolean isEventStream(Http2Headers response) {
        CharSequence type = response.get(HttpHeaderNames.CONTENT_TYPE);
        AsciiString events = HttpHeaderValues.TEXT_EVENT_STREAM;
        return type != null && AsciiString.regionMatches(type, true, 0, events, 0, events.length());
    }

    /** Returns whether a header that is a list has this element, in any case. */
    private static boolean lists(Http2Headers head, AsciiString name, AsciiString element) {
        for (Iterator<CharSequence> values = head.valueIterator(name); values.hasNext(); ) {
            if (lists(values.next(), element)) {
                return true;
            }
        }
        return false;
    }

    private static boolean lists(CharSequence value, AsciiString element) {
        int length = element.length();
        for (int at = 0; at + length <= value.length(); at++) {
            if (isEdge(value, at - 1)
                    && isEdge(value, at + length)
                    && AsciiString.regionMatches(value, true, at, element, 0, length)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isEdge(CharSequence value, int at) {
        if (at < 0 || at >= value.length()) {
            return true;
        }
        char c = value.charAt(at);
        return c == ',' || c == ' ' || c == '\t';
    }
}
