package io.lambdadispatcher.wire.http2;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.DefaultHttp2FrameReader;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameListener;
import io.netty.handler.codec.http2.Http2FrameReader;
import io.netty.handler.codec.http2.Http2FrameTypes;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersDecoder;

/**
 * Reads HTTP/2 frames like Netty's reader, but passes a DATA payload on as it arrives instead of
 * waiting for the complete frame. Bodies are neither gathered nor copied, and a large frame costs
 * no memory. The parts are passed to {@link Http2FrameListener#onDataRead} one by one, END_STREAM
 * with the last one. Flow control counts bytes, so the parts add up to the frame. Netty's reader
 * handles all other frames and DATA with padding, one complete frame at a time, except headers that
 * arrive in one frame.
 *
 * <p><b>Threading.</b> Event loop only.
 *
 * <p><b>Buffers.</b> A part is the input itself, of which only the part is readable during the
 * call. To keep it, take a retained slice.
 */
public final class EagerFrameReader implements Http2FrameReader {
    private static final int HEADER_BYTES = 9;
    private static final int TYPE_OFFSET = 3;
    private static final int FLAGS_OFFSET = 4;
    private static final int STREAM_OFFSET = 5;
    private static final int END_STREAM = 0x1;
    private static final int END_HEADERS = 0x4;
    private static final int PADDED = 0x8;

    /**
     * Maximum number of CONTINUATION frames of one header block that are too small to be honest
     * (CVE-2024-27316).
     */
    private static final int MAX_SMALL_CONTINUATIONS = 16;

    private final Http2HeadersDecoder heads;
    private final Http2FrameReader delegate;
    private final FrameBudget budget;

    private boolean insideHeaderBlock;
    private boolean readingHead;
    private int headerBlockBytes;
    private int headId;
    private int newestHeadId;
    private boolean insideData;
    private int dataStreamId;
    private int dataFrameBytes;
    private int dataBytesLeft;
    private boolean dataEndsStream;
    private boolean dataContinued;
    private boolean failed;
    private boolean insideFrame;
    private long finished;

    /** Creates a reader for a peer whose frames are not limited. */
    public EagerFrameReader(Http2HeadersDecoder heads) {
        this(heads, new FrameBudget(Long.MAX_VALUE));
    }

    EagerFrameReader(Http2HeadersDecoder heads, FrameBudget budget) {
        this.heads = heads;
        this.budget = budget;
        this.delegate = new DefaultHttp2FrameReader(heads, MAX_SMALL_CONTINUATIONS);
    }

    @Override
    public void readFrame(ChannelHandlerContext ctx, ByteBuf input, Http2FrameListener listener) throws Http2Exception {
        if (failed) {
            input.skipBytes(input.readableBytes());
            return;
        }
        try {
            // Set here, because a stream error can be thrown at the end of a frame.
            insideFrame = false;
            while (insideData ? readData(ctx, input, listener) : readOther(ctx, input, listener)) {}
            insideFrame = !insideData && input.isReadable();
        } catch (Http2Exception e) {
            failed = !Http2Exception.isStreamError(e);
            throw e;
        } catch (RuntimeException e) {
            // Netty closes the connection for it. No more requests may be read.
            failed = true;
            throw e;
        }
    }

    /** @return whether there may be more to read */
    private boolean readData(ChannelHandlerContext ctx, ByteBuf input, Http2FrameListener listener)
            throws Http2Exception {
        int bytes = Math.min(dataBytesLeft, input.readableBytes());
        if (bytes == 0 && dataBytesLeft > 0) {
            return false;
        }
        // Before the call, because it can throw a stream error, and the frame continues behind what
        // was read.
        dataContinued = dataBytesLeft < dataFrameBytes;
        dataBytesLeft -= bytes;
        insideData = dataBytesLeft > 0;
        finished++;
        int end = input.readerIndex() + bytes;
        int inputEnd = input.writerIndex();
        try {
            listener.onDataRead(ctx, dataStreamId, input.writerIndex(end), 0, dataEndsStream && !insideData);
        } finally {
            input.setIndex(end, inputEnd);
        }
        return true;
    }

    private boolean readOther(ChannelHandlerContext ctx, ByteBuf input, Http2FrameListener listener)
            throws Http2Exception {
        if (input.readableBytes() < HEADER_BYTES) {
            return false;
        }
        dataContinued = false;
        int start = input.readerIndex();
        if (!insideHeaderBlock) {
            newestHeadId = Math.max(newestHeadId, headId);
        }
        int payloadBytes = input.getUnsignedMedium(start);
        byte type = input.getByte(start + TYPE_OFFSET);
        readingHead = type == Http2FrameTypes.HEADERS || type == Http2FrameTypes.CONTINUATION;
        int flags = input.getUnsignedByte(start + FLAGS_OFFSET);
        int streamId = input.getInt(start + STREAM_OFFSET) & Integer.MAX_VALUE;
        boolean plainData =
                type == Http2FrameTypes.DATA && streamId != 0 && (flags & PADDED) == 0 && !insideHeaderBlock;
        int most = configuration().frameSizePolicy().maxFrameSize();
        if (payloadBytes > (plainData ? most : Math.min(most, Http2CodecUtil.DEFAULT_MAX_FRAME_SIZE))) {
            // By its header alone. Who has not said who he is must not fill the memory with others.
            throw Http2Exception.connectionError(
                    Http2Error.FRAME_SIZE_ERROR, "a frame of type %d with %d bytes", type, payloadBytes);
        }
        if (plainData) {
            budget.onFrame(0); // flow control limits the bytes
            input.skipBytes(HEADER_BYTES);
            insideData = true;
            dataStreamId = streamId;
            dataFrameBytes = payloadBytes;
            dataBytesLeft = payloadBytes;
            dataEndsStream = (flags & END_STREAM) != 0;
            return true;
        }
        if (input.readableBytes() < HEADER_BYTES + payloadBytes) {
            return false;
        }
        budget.onFrame(readingHead || type == Http2FrameTypes.DATA ? 0 : payloadBytes);
        if (type == Http2FrameTypes.HEADERS) {
            headId = streamId;
        }
        if (type == Http2FrameTypes.HEADERS
                && (flags & ~END_STREAM) == END_HEADERS
                && streamId != 0
                && !insideHeaderBlock) {
            readHead(ctx, input, payloadBytes, streamId, (flags & END_STREAM) != 0, listener);
            return true;
        }
        if (type == Http2FrameTypes.HEADERS
                || type == Http2FrameTypes.PUSH_PROMISE
                || type == Http2FrameTypes.CONTINUATION) {
            insideHeaderBlock = (flags & END_HEADERS) == 0;
            headerBlockBytes = insideHeaderBlock ? headerBlockBytes + payloadBytes : 0;
        }
        if (!insideHeaderBlock) {
            finished++;
        }
        delegate.readFrame(ctx, input.readSlice(HEADER_BYTES + payloadBytes), listener);
        return true;
    }

    /**
     * Reads headers in one frame without padding or priority, which is the usual case. Allocates
     * nothing but the headers.
     */
    private void readHead(
            ChannelHandlerContext ctx,
            ByteBuf input,
            int blockBytes,
            int streamId,
            boolean endStream,
            Http2FrameListener listener)
            throws Http2Exception {
        int end = input.readerIndex() + HEADER_BYTES + blockBytes;
        int inputEnd = input.writerIndex();
        finished++;
        Http2Headers head;
        try {
            // The decoder reads everything that is readable. A slice would work, but costs an
            // object.
            head = heads.decodeHeaders(streamId, input.skipBytes(HEADER_BYTES).writerIndex(end));
        } finally {
            input.setIndex(end, inputEnd);
        }
        listener.onHeadersRead(ctx, streamId, head, 0, endStream);
    }

    /** Returns the budget for the peer's frames. */
    public FrameBudget budget() {
        return budget;
    }

    /** Returns whether a header block, or a frame that is not DATA, is incomplete. */
    public boolean isUnfinished() {
        return insideHeaderBlock || insideFrame;
    }

    /**
     * Returns whether what was passed on last is a part of DATA, but not the first of its frame.
     */
    public boolean isContinuingData() {
        return dataContinued;
    }

    /** Returns whether the last frame that was started is part of a header block. */
    public boolean isReadingHead() {
        return readingHead;
    }

    /**
     * Returns the highest stream id of the headers before this frame, whether those streams were
     * opened or not; 0 if there are none.
     */
    public int newestHeadId() {
        return newestHeadId;
    }

    /**
     * Returns how many bytes of an incomplete header block are held, besides those of an incomplete
     * frame.
     */
    public int headerBlockBytes() {
        return headerBlockBytes;
    }

    /**
     * Returns the number of header blocks, parts of DATA, and other frames so far. It does not
     * change while the same one is {@link #isUnfinished}.
     */
    public long finished() {
        return finished;
    }

    @Override
    public Configuration configuration() {
        return delegate.configuration();
    }

    @Override
    public void close() {
        delegate.close();
    }
}
