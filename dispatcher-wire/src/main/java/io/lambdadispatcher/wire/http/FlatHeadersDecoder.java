package io.lambdadispatcher.wire.http;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import org.jspecify.annotations.Nullable;

/**
 * Netty's HPACK decoder (RFC 7541), which returns {@link FlatHeaders} with valid headers. Many
 * clients and handlers repeat their headers, and HPACK then repeats the same bytes. Such a block is
 * not decoded and checked again. Confined to an event loop.
 */
public final class FlatHeadersDecoder extends DefaultHttp2HeadersDecoder {
    private static final AsciiString NO_NUMBER = AsciiString.cached("malformed");

    /** Maximum size of a block that is remembered. */
    private static final int MAX_REPEATED_BYTES = 64;

    /** Room of the largest headers that are reused, because each decoder may keep some. */
    private static final int MAX_REUSED_FIELDS = 32;

    // The first byte of a field (RFC 7541 section 6). From INDEXED on, it refers to a table. Below
    // NEVER_INDEXED, a literal follows that is not added to a table.
    private static final int INDEXED = 0x80;
    private static final int NEVER_INDEXED = 0x10;

    /** The maximum of an integer's first byte, behind which more bytes follow (section 5.1). */
    private static final int LONG_INDEX = 0xFF;

    private static final int LONG_NAME_INDEX = 0x0F;
    private static final int LONG_LENGTH = 0x7F;

    private final FieldValidator validator = new FieldValidator();
    private final int spareFields;
    private final boolean verifiesLength;

    /**
     * The previous block, if it changes no table. The same bytes then have the same meaning until
     * another block comes.
     */
    private final byte[] previous = new byte[MAX_REPEATED_BYTES];

    private int previousBytes;
    /** The headers of the previous block, if it came at least twice. */
    private @Nullable FlatHeaders repeated;

    private @Nullable FlatHeaders spare;

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
        boolean repeats = isPrevious(block);
        if (repeats && repeated != null) {
            block.skipBytes(previousBytes);
            FlatHeaders again = takeSpare();
            return again == null ? new FlatHeaders(repeated, spareFields) : again.become(repeated);
        }
        repeated = null;
        previousBytes = repeats ? previousBytes : remember(block);
        Http2Headers head = decode(streamId, block);
        if (repeats && head instanceof FlatHeaders flat) {
            repeated = new FlatHeaders(flat, 0);
        }
        return head;
    }

    @Override
    public void maxHeaderTableSize(long bytes) throws Http2Exception {
        previousBytes = 0;
        super.maxHeaderTableSize(bytes);
    }

    private boolean isPrevious(ByteBuf block) {
        int bytes = previousBytes;
        if (bytes == 0 || block.readableBytes() != bytes) {
            return false;
        }
        int start = block.readerIndex();
        for (int i = 0; i < bytes; i++) {
            if (block.getByte(start + i) != previous[i]) {
                return false;
            }
        }
        return true;
    }

    /** @return number of bytes that were remembered; 0 if the block may change a table */
    private int remember(ByteBuf block) {
        int bytes = block.readableBytes();
        if (bytes > MAX_REPEATED_BYTES) {
            return 0;
        }
        block.getBytes(block.readerIndex(), previous, 0, bytes);
        return changesNoTable(bytes) ? bytes : 0;
    }

    /** Knows only the usual forms of fields, with short indexes and strings. */
    private boolean changesNoTable(int bytes) {
        int at = 0;
        while (at < bytes) {
            int first = previous[at++] & 0xFF;
            if (first == LONG_INDEX || first == LONG_NAME_INDEX || first < INDEXED && first >= NEVER_INDEXED) {
                return false;
            }
            if (first == 0) {
                at = behindString(at, bytes);
            }
            if (first < INDEXED) {
                at = behindString(at, bytes);
            }
        }
        return at == bytes;
    }

    private int behindString(int at, int end) {
        int length = at < end ? previous[at] & LONG_LENGTH : LONG_LENGTH;
        return at + 1 + (length == LONG_LENGTH ? end : length);
    }

    private Http2Headers decode(int streamId, ByteBuf block) throws Http2Exception {
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
        FlatHeaders again = takeSpare();
        return again == null
                ? new FlatHeaders(numberOfHeadersGuess() + spareFields, validator)
                : again.restart(validator);
    }

    private @Nullable FlatHeaders takeSpare() {
        FlatHeaders taken = spare;
        spare = null;
        return taken;
    }

    /**
     * Lets the next call of {@link #decodeHeaders} return this object. Nobody may use it any more.
     */
    public void reuse(FlatHeaders decoded) {
        if (decoded.room() <= MAX_REUSED_FIELDS) {
            decoded.clear();
            spare = decoded;
        }
    }
}
