package io.lambdadispatcher.wire.http2;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.DefaultHttp2FrameWriter;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameTypes;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersEncoder;

/**
 * Netty's frame writer, but a HEADERS frame is one buffer and one write: the block is encoded right behind the place of its frame header, instead of
 * into a buffer of its own with a promise to join the two. A head that needs CONTINUATION is cut by reference. Event loop only.
 */
public final class CompactFrameWriter extends DefaultHttp2FrameWriter {
    private static final int HEADER_BYTES = 9;
    private static final int USUAL_HEAD_BYTES = 256;
    private static final int END_STREAM = 0x1;
    private static final int END_HEADERS = 0x4;

    private final Http2HeadersEncoder heads;

    public CompactFrameWriter() {
        this(new DefaultHttp2HeadersEncoder());
    }

    private CompactFrameWriter(Http2HeadersEncoder heads) {
        super(heads);
        this.heads = heads;
    }

    @Override
    public ChannelFuture writeHeaders(
            ChannelHandlerContext ctx,
            int streamId,
            Http2Headers headers,
            int padding,
            boolean endStream,
            ChannelPromise promise) {
        if (padding > 0) {
            return super.writeHeaders(ctx, streamId, headers, padding, endStream, promise);
        }
        ByteBuf frame = ctx.alloc().directBuffer(HEADER_BYTES + USUAL_HEAD_BYTES);
        try {
            frame.writerIndex(HEADER_BYTES);
            heads.encodeHeaders(streamId, headers, frame);
        } catch (Http2Exception | RuntimeException e) {
            frame.release();
            return promise.setFailure(e);
        }
        int blockBytes = frame.readableBytes() - HEADER_BYTES;
        int endFlag = endStream ? END_STREAM : 0;
        if (blockBytes <= maxFrameSize()) {
            writeHeader(frame, blockBytes, Http2FrameTypes.HEADERS, endFlag | END_HEADERS, streamId);
            return ctx.write(frame, promise);
        }
        return writeCut(ctx, streamId, frame, endFlag, promise);
    }

    /** RFC 9113 section 6.10. Takes the buffer. */
    private ChannelFuture writeCut(
            ChannelHandlerContext ctx, int streamId, ByteBuf frame, int endFlag, ChannelPromise promise) {
        int max = maxFrameSize();
        writeHeader(frame, max, Http2FrameTypes.HEADERS, endFlag, streamId);
        ctx.write(frame.readRetainedSlice(HEADER_BYTES + max));
        while (frame.readableBytes() > max) {
            ctx.write(continuation(ctx, max, 0, streamId));
            ctx.write(frame.readRetainedSlice(max));
        }
        ctx.write(continuation(ctx, frame.readableBytes(), END_HEADERS, streamId));
        return ctx.write(frame, promise);
    }

    private static ByteBuf continuation(ChannelHandlerContext ctx, int bytes, int flags, int streamId) {
        ByteBuf header = ctx.alloc().directBuffer(HEADER_BYTES, HEADER_BYTES).writerIndex(HEADER_BYTES);
        writeHeader(header, bytes, Http2FrameTypes.CONTINUATION, flags, streamId);
        return header;
    }

    private static void writeHeader(ByteBuf out, int bytes, byte type, int flags, int streamId) {
        out.setMedium(0, bytes).setByte(3, type).setByte(4, flags).setInt(5, streamId);
    }
}
