package io.lambdadispatcher.wire;

import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Headers;

/** Netty's HPACK decoder (RFC 7541), whose heads are {@link FlatHeaders} of valid fields. Confined to an event loop. */
public final class FlatHeadersDecoder extends DefaultHttp2HeadersDecoder {
    private final FieldValidator validator = new FieldValidator();
    private final int spareFields;

    /**
     * @param maxListBytes of a head as RFC 9113 section 10.5.1 counts
     * @param spareFields room for what the caller adds to a head
     */
    public FlatHeadersDecoder(long maxListBytes, int spareFields) {
        super(true, true, maxListBytes);
        this.spareFields = spareFields;
    }

    @Override
    protected Http2Headers newHeaders() {
        return new FlatHeaders(numberOfHeadersGuess() + spareFields, validator);
    }
}
