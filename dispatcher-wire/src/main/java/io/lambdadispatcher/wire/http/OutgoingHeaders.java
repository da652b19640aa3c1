package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Map;

/**
 * Validates the headers and trailers of an application when it sends them, so that the error names
 * the header in the call that caused it. Names can have capital letters, which HTTP/2 forbids and
 * HTTP/1.1 ignores (RFC 9113 section 8.2.1). They are sent in lower case. Values can be text, see
 * {@link HeaderText#bytesOf}. Any thread.
 */
public final class OutgoingHeaders {
    private static final String NAME_RULE = "letters, digits and !#$%&'*+-.^_`|~";
    private static final String VALUE_RULE = "no control characters except the tab, and no space or tab at either end";
    private static final AsciiString STATUS = Http2Headers.PseudoHeaderName.STATUS.value();

    private OutgoingHeaders() {}

    /**
     * Returns response headers that can be sent: {@code head} itself, or a copy with names in lower
     * case and values in UTF-8. The status is not checked.
     *
     * @throws IllegalArgumentException if a name or a value cannot be sent
     */
    public static Http2Headers ofResponse(Http2Headers head) {
        return verify(head, STATUS) ? head : sendable(head);
    }

    /**
     * Returns trailers that can be sent: {@code trailers} itself, or a copy with names in lower
     * case and values in UTF-8.
     *
     * @throws IllegalArgumentException if a name or a value cannot be sent
     */
    public static Http2Headers ofTrailers(Http2Headers trailers) {
        return verify(trailers, AsciiString.EMPTY_STRING) ? trailers : sendable(trailers);
    }

    /** Returns whether all names are in lower case and all values are bytes. */
    private static boolean verify(Http2Headers headers, AsciiString pseudoHeader) {
        boolean sendable = true;
        long bytes = 0;
        for (Map.Entry<CharSequence, CharSequence> header : headers) {
            CharSequence name = header.getKey();
            CharSequence value = header.getValue();
            if (name.length() == 0 || name.charAt(0) != ':') {
                verifyName(name);
                sendable = sendable && isLowerCase(name);
            } else if (!pseudoHeader.contentEquals(name)) {
                throw new IllegalArgumentException("header " + HeaderSyntax.printable(name)
                        + (pseudoHeader.isEmpty()
                                ? ", expected no pseudo-header in trailers"
                                : ", expected no other pseudo-header than " + pseudoHeader));
            }
            CharSequence sent = verifyValue(name, value);
            sendable = sendable && sent == value;
            bytes += name.length() + sent.length() + FlatHeaders.HEADER_OVERHEAD_BYTES;
        }
        if (bytes > FlatHeaders.MAX_LIST_BYTES) {
            throw new IllegalArgumentException("headers of " + bytes + " bytes, with "
                    + FlatHeaders.HEADER_OVERHEAD_BYTES + " for each, expected at most " + FlatHeaders.MAX_LIST_BYTES);
        }
        return sendable;
    }

    /**
     * @throws IllegalArgumentException if HTTP does not allow a header of this name; capital
     *     letters are allowed
     */
    public static void verifyName(CharSequence name) {
        if (!HeaderSyntax.isToken(name)) {
            throw new IllegalArgumentException(
                    "header name " + HeaderSyntax.printable(name) + ", expected one or more of " + NAME_RULE);
        }
    }

    /**
     * Returns the bytes of a value, see {@link HeaderText#bytesOf}.
     *
     * @throws IllegalArgumentException if HTTP does not allow this value
     */
    public static CharSequence verifyValue(CharSequence name, CharSequence value) {
        CharSequence bytes = HeaderText.bytesOf(value);
        if (!HeaderSyntax.isValue(bytes)) {
            throw new IllegalArgumentException(
                    "header " + name + " with value " + HeaderSyntax.printable(value) + ", expected " + VALUE_RULE);
        }
        return bytes;
    }

    private static boolean isLowerCase(CharSequence name) {
        for (int i = 0; i < name.length(); i++) {
            if (AsciiString.isUpperCase(name.charAt(i))) {
                return false;
            }
        }
        return true;
    }

    private static Http2Headers sendable(Http2Headers from) {
        FlatHeaders to = new FlatHeaders();
        for (Map.Entry<CharSequence, CharSequence> header : from) {
            to.add(AsciiString.of(header.getKey()).toLowerCase(), HeaderText.bytesOf(header.getValue()));
        }
        return to;
    }
}
