package io.lambdadispatcher.wire.http;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;

/**
 * Netty's HPACK decoder (RFC 7541), which returns {@link FlatHeaders} with valid headers. Confined
 * to an event loop.
 */
public final class FlatHeadersDecoder extends DefaultHttp2HeadersDecoder {
    private static final AsciiString NO_NUMBER = AsciiString.cached("malformed");

    private final FieldValidator validator = new FieldValidator();
    private final int spareFields;
    private final boolean verifiesLength;

    /**
     * Creates a decoder for the HEADERS of an HTTP/2 connection. Netty rejects a malformed {@code
     * content-length}, but joins repeated ones. A length that is malformed by our rules is replaced
     * with one that Netty rejects, too: as an error of the stream only, and after the stream was
     * opened, so that its DATA can follow.
     *
     * @param maxListBytes maximum size, counted as in RFC 9113 section 10.5.1
     * @param spareFields room for headers that the caller adds
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
     * Creates a decoder for headers in separate frames, whose reader checks {@code content-length}.
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
