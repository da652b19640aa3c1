package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import org.jspecify.annotations.Nullable;

/**
 * Reads the header {@code traceparent} ({@code https://www.w3.org/TR/trace-context/}, section 3.2):
 * {@code 00-TRACE_ID-SPAN_ID-FLAGS}, in lower-case hexadecimal. Later versions may append more.
 */
public final class TraceParent {
    public static final AsciiString NAME = AsciiString.cached("traceparent");

    private static final int TRACE_ID = 3;
    private static final int SPAN_ID = 36;
    private static final int FLAGS = 53;
    private static final int LENGTH = 55;
    private static final int SAMPLED = 1;

    private TraceParent() {}

    /** Returns whether the request belongs to a trace that is recorded. */
    public static boolean isSampled(Http2Headers head) {
        CharSequence value = head.get(NAME);
        return value != null && isValid(value) && (Character.digit(value.charAt(FLAGS + 1), 16) & SAMPLED) != 0;
    }

    /**
     * Returns the trace id, 32 hexadecimal digits, or {@code null} if the header is absent or
     * malformed.
     */
    public static @Nullable String traceId(Http2Headers head) {
        return part(head, TRACE_ID, SPAN_ID - 1);
    }

    /**
     * Returns the id of the caller's span, 16 hexadecimal digits, or {@code null} if the header is
     * absent or malformed.
     */
    public static @Nullable String spanId(Http2Headers head) {
        return part(head, SPAN_ID, FLAGS - 1);
    }

    private static @Nullable String part(Http2Headers head, int begin, int end) {
        CharSequence value = head.get(NAME);
        return value != null && isValid(value) ? value.subSequence(begin, end).toString() : null;
    }

    private static boolean isValid(CharSequence value) {
        if (value.length() < LENGTH
                || value.length() > LENGTH && isVersion(value, '0', '0')
                || isVersion(value, 'f', 'f')) {
            return false;
        }
        for (int i = 0; i < LENGTH; i++) {
            char c = value.charAt(i);
            boolean separator = i == TRACE_ID - 1 || i == SPAN_ID - 1 || i == FLAGS - 1;
            if (separator ? c != '-' : !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f')) {
                return false;
            }
        }
        return !isZero(value, TRACE_ID, SPAN_ID - 1) && !isZero(value, SPAN_ID, FLAGS - 1);
    }

    private static boolean isVersion(CharSequence value, char first, char second) {
        return value.charAt(0) == first && value.charAt(1) == second;
    }

    private static boolean isZero(CharSequence value, int begin, int end) {
        for (int i = begin; i < end; i++) {
            if (value.charAt(i) != '0') {
                return false;
            }
        }
        return true;
    }
}
