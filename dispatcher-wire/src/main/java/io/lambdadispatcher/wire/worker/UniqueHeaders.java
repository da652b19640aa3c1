package io.lambdadispatcher.wire.worker;

import io.netty.handler.codec.http2.Http2HeadersEncoder.SensitivityDetector;
import io.netty.util.AsciiString;

/**
 * Keeps headers whose value is different in each request out of HPACK's dynamic table (RFC 7541
 * section 6.2.3). There, they would never be found again, would displace the headers that repeat,
 * and would make the search for those slower.
 */
final class UniqueHeaders implements SensitivityDetector {
    static final UniqueHeaders INSTANCE = new UniqueHeaders();

    private static final AsciiString TRACEPARENT = AsciiString.cached("traceparent");
    private static final AsciiString TRACESTATE = AsciiString.cached("tracestate");
    private static final AsciiString X_REQUEST_ID = AsciiString.cached("x-request-id");
    /** Load balancers of AWS add it. */
    private static final AsciiString X_AMZN_TRACE_ID = AsciiString.cached("x-amzn-trace-id");
    /** CloudFront adds it. */
    private static final AsciiString X_AMZ_CF_ID = AsciiString.cached("x-amz-cf-id");

    private UniqueHeaders() {}

    /**
     * Compares only names of the right length with the right letter, because it is called for each
     * header. The usual {@code user-agent}, {@code :authority} and {@code x-forwarded-for} have
     * such lengths.
     */
    @Override
    public boolean isSensitive(CharSequence name, CharSequence value) {
        return switch (name.length()) {
            case 10 -> name.charAt(0) == 't' && TRACESTATE.contentEquals(name);
            case 11 -> TRACEPARENT.contentEquals(name) || X_AMZ_CF_ID.contentEquals(name);
            case 12 -> X_REQUEST_ID.contentEquals(name);
            case 15 -> name.charAt(2) == 'a' && X_AMZN_TRACE_ID.contentEquals(name);
            default -> false;
        };
    }
}
