package io.lambdadispatcher.wire;

import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Headers;

/** Netty's HPACK decoder (RFC 7541), whose heads are {@link FlatHeaders} of valid fields. Confined to an event loop. */
public final class FlatHeadersDecoder extends DefaultHttp2HeadersDecoder {
    /** What an intermediary adds. */
    private static final int SPARE_FIELDS = 5;

    private final FieldValidator validator = new FieldValidator();

    /** @param maxListBytes of a head as RFC 9113 section 10.5.1 counts */
    public FlatHeadersDecoder(long maxListBytes) {
        super(true, true, maxListBytes);
    }

    @Override
    protected Http2Headers newHeaders() {
        return new FlatHeaders(numberOfHeadersGuess() + SPARE_FIELDS, validator);
    }
}
