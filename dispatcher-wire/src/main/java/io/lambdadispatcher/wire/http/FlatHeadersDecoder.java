package io.lambdadispatcher.wire.http;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Exception;
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
    public Http2Headers decodeHeaders(int streamId, ByteBuf block) throws Http2Exception {
        Http2Headers head = super.decodeHeaders(streamId, block);
        if (head instanceof FlatHeaders flat) {
            flat.onDecoded();
        }
        return head;
    }

    @Override
    protected Http2Headers newHeaders() {
        return new FlatHeaders(numberOfHeadersGuess() + spareFields, validator);
    }
}
