package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;

/**
 * The length that headers declare for a body, and the number of bytes that have arrived (RFC 9110
 * section 8.6). A body that is longer or shorter than declared ends at different places for
 * different readers, which is how requests are smuggled. One object counts one body after the
 * other. Event loop only.
 */
public final class ContentLength {
    /** There is no {@code content-length}. */
    public static final long UNKNOWN = -1;

    /** There is more than one {@code content-length}, or it is not a number. */
    public static final long MALFORMED = -2;

    /** 18 digits fit into a long, and 888 PiB are enough. */
    private static final int MAX_DIGITS = 18;

    private boolean empty;
    private long left = UNKNOWN;

    /**
     * Reads one number of 1 to 18 ASCII digits.
     *
     * @return {@link #MALFORMED} for anything else
     */
    public static long parse(CharSequence text) {
        int length = text.length();
        if (length == 0 || length > MAX_DIGITS) {
            return MALFORMED;
        }
        long value = 0;
        for (int i = 0; i < length; i++) {
            int digit = text.charAt(i) - '0';
            if (digit < 0 || digit > 9) {
                return MALFORMED;
            }
            value = value * 10 + digit;
        }
        return value;
    }

    /**
     * Reads the length that a head declares. RFC 9110 section 8.6 allows a recipient to accept the
     * same number twice or to refuse it. It is refused, because the next reader may see it
     * differently.
     *
     * @return {@link #UNKNOWN} or {@link #MALFORMED} if there is no such length
     */
    public static long of(Http2Headers head) {
        CharSequence text = head.get(HttpHeaderNames.CONTENT_LENGTH);
        if (text == null) {
            return UNKNOWN;
        }
        boolean repeated = head instanceof FlatHeaders flat
                ? flat.isRepeated(HttpHeaderNames.CONTENT_LENGTH)
                : head.getAll(HttpHeaderNames.CONTENT_LENGTH).size() > 1;
        return repeated ? MALFORMED : parse(text);
    }

    /** Expects a body of any length. */
    public void expectAny() {
        empty = false;
        left = UNKNOWN;
    }

    /**
     * Expects a request's body.
     *
     * @return false if the head's length is malformed
     */
    public boolean expectRequest(Http2Headers head) {
        empty = false;
        left = of(head);
        return left != MALFORMED;
    }

    /**
     * Expects a final response's body. A response to HEAD and a 304 may declare the length of a
     * body that they do not have. A 204 declares nothing (see {@link HopByHop#removeFromResponse}),
     * a 205 only 0.
     *
     * @return false if the head's length is malformed
     */
    public boolean expectResponse(Http2Headers head, int status, boolean toHead) {
        long declared = of(head);
        empty = toHead || StatusCode.isBodyless(status);
        boolean describesOther = toHead || StatusCode.mayDescribeBody(status) || !StatusCode.mayHaveLength(status);
        left = describesOther ? UNKNOWN : declared;
        return declared != MALFORMED;
    }

    /** Whether no body is allowed, whatever the head declares. */
    public boolean isEmpty() {
        return empty;
    }

    /** Whether a length was declared and has not been reached. */
    public boolean isShort() {
        return left > 0;
    }

    /** Says what is wrong with a response's body, if {@link #add} has returned false. */
    public String errorOfResponse() {
        return isEmpty()
                ? "the response has a body, which its status does not allow"
                : "the response's body is " + (isShort() ? "shorter" : "longer") + " than its content-length";
    }

    /**
     * Counts a part of the body.
     *
     * @param end whether it is the last part
     * @return false if the body is now known to be longer or shorter than it may be
     */
    public boolean add(int bytes, boolean end) {
        if (empty && bytes > 0) {
            return false;
        }
        if (left < 0) {
            return left == UNKNOWN;
        }
        if (bytes > left) {
            left = MALFORMED;
            return false;
        }
        left -= bytes;
        return !end || left == 0;
    }
}
