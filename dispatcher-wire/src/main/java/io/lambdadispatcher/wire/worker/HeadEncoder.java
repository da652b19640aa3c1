package io.lambdadispatcher.wire.worker;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersEncoder;

/**
 * HPACK (RFC 7541) with one dynamic table for the life of the stream, so that headers that resemble
 * the previous ones take a few bytes. Confined to the stream's event loop.
 */
public final class HeadEncoder {
    // The stream id is used only in error messages, and the headers of a worker stream have no
    // separate id.
    private static final int ANY_STREAM = 1;

    // A repeated header takes one or two bytes, whatever its length. Huffman coding would cost CPU,
    // and only the first occurrence would be shorter.
    private static final int NO_HUFFMAN = Integer.MAX_VALUE;

    private final Http2HeadersEncoder hpack =
            new DefaultHttp2HeadersEncoder(UniqueHeaders.INSTANCE, true, 16, NO_HUFFMAN);

    /** Appends the block to {@code out}. */
    void encode(Http2Headers head, ByteBuf out) throws WireException {
        try {
            hpack.encodeHeaders(ANY_STREAM, head, out);
        } catch (Http2Exception e) {
            // The encoder wraps everything. An Error, such as no memory, is not the headers' fault.
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw new WireException(WireException.Reason.BAD_HEAD, 0, String.valueOf(e.getMessage()), e);
        }
    }
}
