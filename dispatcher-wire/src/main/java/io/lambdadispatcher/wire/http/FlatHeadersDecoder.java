package io.lambdadispatcher.wire.http;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;

/**
 * Netty's HPACK decoder (RFC 7541), whose heads are {@link FlatHeaders} of valid fields. Confined
 * to an event loop.
 */
public final class FlatHeadersDecoder extends DefaultHttp2HeadersDecoder {
    private static final AsciiString NO_NUMBER = AsciiString.cached("malformed");

    private final FieldValidator validator = new FieldValidator();
    private final int spareFields;
    private final boolean verifiesLength;

    /**
     * A decoder for the HEADERS of an HTTP/2 connection. Netty refuses a malformed {@code
     * content-length}, but merges repeated ones. Any that is malformed here becomes one that Netty
     * refuses, too: as an error of the stream only, and after it has opened the stream, so that the
     * stream's DATA may follow.
     *
     * @param maxListBytes of a head as RFC 9113 section 10.5.1 counts
     * @param spareFields room for what the caller adds to a head
     */
    public FlatHeadersDecoder(long maxListBytes, int spareFields) {
        this(maxListBytes, spareFields, true);
    }

    private FlatHeadersDecoder(long maxListBytes, int spareFields, boolean verifiesLength) {
        super(true, true, maxListBytes);
        this.spareFields = spareFields;
        this.verifiesLength = verifiesLength;
    }

    /**
     * A decoder for heads that travel in frames of their own, whose reader verifies {@code
     * content-length}.
     */
    public static FlatHeadersDecoder ofBlocks(long maxListBytes, int spareFields) {
        return new FlatHeadersDecoder(maxListBytes, spareFields, false);
    }

    @Override
    public Http2Headers decodeHeaders(int streamId, ByteBuf block) throws Http2Exception {
        Http2Headers head = super.decodeHeaders(streamId, block);
        if (verifiesLength && ContentLength.of(head) == ContentLength.MALFORMED) {
            head.set(HttpHeaderNames.CONTENT_LENGTH, NO_NUMBER);
        }
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
