package io.lambdadispatcher.wire.worker;

import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.FlatHeadersDecoder;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Exception;

/** Decodes the blocks of {@link HeadEncoder}. Confined to the stream's event loop. */
public final class HeadDecoder {
    private static final int ANY_STREAM = 1;

    private final FlatHeadersDecoder hpack = FlatHeadersDecoder.ofBlocks(FlatHeaders.MAX_LIST_BYTES, 2);

    /**
     * Lets the next call of {@link #decode} return this object again. Nobody may use it any more.
     */
    public void reuse(FlatHeaders decoded) {
        hpack.reuse(decoded);
    }

    /**
     * Decodes all of {@code block}, which remains the caller's. The result does not refer to it.
     *
     * @param offset offset of the frame, for the error message
     * @throws WireException if the block is not HPACK, is too large when decoded, or contains names
     *     or values that HTTP/2 forbids
     */
    public FlatHeaders decode(ByteBuf block, long offset) throws WireException {
        try {
            return (FlatHeaders) hpack.decodeHeaders(ANY_STREAM, block);
        } catch (Http2Exception e) {
            throw new WireException(WireException.Reason.BAD_HEAD, offset, String.valueOf(e.getMessage()), e);
        }
    }
}
