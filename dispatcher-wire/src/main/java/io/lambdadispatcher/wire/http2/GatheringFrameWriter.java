package io.lambdadispatcher.wire.http2;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.DefaultHttp2FrameWriter;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Flags;
import io.netty.handler.codec.http2.Http2FrameTypes;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersEncoder;
import io.netty.handler.codec.http2.Http2Settings;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * Writes the HTTP/2 frames of one connection (RFC 9113 section 4.1). Small frames are gathered in
 * one buffer, the <em>chunk</em>. It is passed to the channel when it is full, before a large body,
 * and with each flush. For a frame of a few bytes, a separate buffer costs more than everything
 * else. The order of frames is kept.
 *
 * <p>A frame counts as written when it is in the chunk, so most promises complete immediately. A
 * failing channel fails the complete connection in any case. While the channel is not writable, and
 * after {@link #completeWhenSent}, the promises of frames that end a stream complete when the
 * socket has accepted the bytes. Therefore, the streams that a peer may open limit what is queued
 * for a peer that does not read.
 *
 * <p><b>Threading.</b> Event loop only. Owns the chunk until {@link #handOver} or {@link #close}.
 */
public final class GatheringFrameWriter extends DefaultHttp2FrameWriter {
    /**
     * A body part up to this size is copied into the chunk, because one more buffer in a gathering
     * write takes longer than the copy.
     */
    static final int COPY_BREAK_BYTES = 512;

    private static final int META_BYTES = 256;
    private static final int MAX_SPARES = 64;
    private static final int BULK_COPY_BYTES = 96;
    private static final int HEADER_BYTES = 9;
    private static final int USUAL_HEAD_BYTES = 256;
    private static final int END_STREAM = 0x1;
    private static final int END_HEADERS = 0x4;
    private static final int MIN_CHUNK_BYTES = 512;
    private static final int MAX_CHUNK_BYTES = 16 * 1024;

    private final Http2HeadersEncoder heads;
    private @Nullable ByteBuf chunk;
    private int chunkBytes = MIN_CHUNK_BYTES;

    // Buffers that were copied from, for the next headers: allocating one takes longer than filling
    // it.
    private final ArrayDeque<ByteBuf> spares = new ArrayDeque<>(4);
    private boolean closing;
    private boolean closed;

    public GatheringFrameWriter() {
        this(new DefaultHttp2HeadersEncoder());
    }

    private GatheringFrameWriter(Http2HeadersEncoder heads) {
        super(heads);
        this.heads = heads;
    }

    /**
     * From now on, the end of a stream waits for the socket, because the connection is closed when
     * its last stream has ended.
     */
    void completeWhenSent() {
        closing = true;
    }

    boolean isClosing() {
        return closing;
    }

    boolean isCompleteWhenSent(ChannelHandlerContext ctx) {
        return closing || !ctx.channel().isWritable();
    }

    /** Passes all frames so far to the channel. Must be called before a flush. */
    void handOver(ChannelHandlerContext ctx) {
        ByteBuf full = takeChunk();
        if (full != null) {
            ctx.write(full, ctx.channel().unsafe().voidPromise());
        }
    }

    private @Nullable ByteBuf takeChunk() {
        ByteBuf taken = chunk;
        chunk = null;
        if (taken != null && taken.readableBytes() < chunkBytes / 4) {
            // The memory of a chunk in the socket's queue should not be much larger than its
            // content.
            chunkBytes = Math.max(MIN_CHUNK_BYTES, chunkBytes / 2);
        }
        return taken;
    }

    /**
     * Returns the buffer to which the next {@code bytes} of this connection are appended, before
     * anything else is called here.
     */
    private ByteBuf room(ChannelHandlerContext ctx, int bytes) {
        ByteBuf current = chunk;
        if (current != null) {
            if (current.writableBytes() >= bytes) {
                return current;
            }
            handOver(ctx);
            chunkBytes = Math.min(MAX_CHUNK_BYTES, chunkBytes * 2);
        } else if (closed) {
            return Unpooled.buffer(bytes);
        }
        chunk = ctx.alloc().directBuffer(Math.max(chunkBytes, bytes));
        return chunk;
    }

    /**
     * Writes the header of a DATA frame. {@link #payload} must follow with {@code payloadBytes}
     * bytes.
     */
    void dataHeader(ChannelHandlerContext ctx, int streamId, int payloadBytes, boolean endStream) {
        writeHeader(room(ctx, HEADER_BYTES), payloadBytes, Http2FrameTypes.DATA, endStream ? END_STREAM : 0, streamId);
    }

    /** Returns an empty buffer that belongs to the caller. */
    ByteBuf newMeta(ChannelHandlerContext ctx) {
        ByteBuf spare = spares.poll();
        return spare == null ? ctx.alloc().directBuffer(META_BYTES) : spare;
    }

    private void reuse(ByteBuf meta) {
        if (!closed && spares.size() < MAX_SPARES && meta.capacity() == META_BYTES && meta.refCnt() == 1) {
            spares.push(meta.clear());
        } else {
            meta.release();
        }
    }

    /**
     * Writes a part of a DATA frame's payload. Takes ownership of the buffer.
     *
     * @param reusable whether it may come from {@link #newMeta} and nobody else uses it
     */
    void payload(ChannelHandlerContext ctx, ByteBuf content, boolean reusable) {
        int bytes = content.readableBytes();
        if (bytes > COPY_BREAK_BYTES) {
            handOver(ctx);
            ctx.write(content, ctx.channel().unsafe().voidPromise());
            return;
        }
        try {
            copy(content, room(ctx, bytes), bytes);
        } finally {
            if (reusable) {
                reuse(content);
            } else {
                content.release();
            }
        }
    }

    private static void copy(ByteBuf from, ByteBuf to, int bytes) {
        if (bytes > BULK_COPY_BYTES) {
            // This creates a view of the source each time.
            to.writeBytes(from, bytes);
            return;
        }
        int left = bytes;
        for (; left >= Long.BYTES; left -= Long.BYTES) {
            to.writeLong(from.readLong());
        }
        for (; left > 0; left--) {
            to.writeByte(from.readByte());
        }
    }

    /**
     * Returns the future of all frames so far, which is complete unless {@link
     * #isCompleteWhenSent}.
     */
    ChannelFuture written(ChannelHandlerContext ctx) {
        return isCompleteWhenSent(ctx) ? sent(ctx, ctx.newPromise()) : ctx.newSucceededFuture();
    }

    private ChannelFuture sent(ChannelHandlerContext ctx, ChannelPromise promise) {
        ByteBuf last = takeChunk();
        return ctx.write(last == null ? Unpooled.EMPTY_BUFFER : last, promise);
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
            handOver(ctx);
            return super.writeHeaders(ctx, streamId, headers, padding, endStream, promise);
        }
        ByteBuf out = room(ctx, HEADER_BYTES + USUAL_HEAD_BYTES);
        int start = out.writerIndex();
        try {
            out.writeZero(HEADER_BYTES);
            heads.encodeHeaders(streamId, headers, out);
        } catch (Http2Exception | RuntimeException e) {
            out.writerIndex(start);
            promise.tryFailure(e);
            return ctx.newFailedFuture(e);
        }
        int blockBytes = out.writerIndex() - start - HEADER_BYTES;
        int endFlag = endStream ? END_STREAM : 0;
        if (blockBytes <= maxFrameSize()) {
            setHeader(out, start, blockBytes, Http2FrameTypes.HEADERS, endFlag | END_HEADERS, streamId);
        } else {
            ByteBuf block = out.copy(start + HEADER_BYTES, blockBytes);
            out.writerIndex(start);
            writeCut(ctx, streamId, block, endFlag);
        }
        return complete(ctx, endStream, promise);
    }

    private ChannelFuture complete(ChannelHandlerContext ctx, boolean endStream, ChannelPromise promise) {
        if (endStream && !promise.isDone() && isCompleteWhenSent(ctx)) {
            return sent(ctx, promise);
        }
        promise.trySuccess();
        return promise;
    }

    /** RFC 9113 section 6.10. Takes ownership of the block. */
    private void writeCut(ChannelHandlerContext ctx, int streamId, ByteBuf block, int endFlag) {
        try {
            int max = maxFrameSize();
            writeHeader(room(ctx, HEADER_BYTES + max), max, Http2FrameTypes.HEADERS, endFlag, streamId);
            room(ctx, max).writeBytes(block, max);
            while (block.isReadable()) {
                int bytes = Math.min(max, block.readableBytes());
                int flags = bytes == block.readableBytes() ? END_HEADERS : 0;
                writeHeader(room(ctx, HEADER_BYTES + bytes), bytes, Http2FrameTypes.CONTINUATION, flags, streamId);
                room(ctx, bytes).writeBytes(block, bytes);
            }
        } finally {
            block.release();
        }
    }

    @Override
    public ChannelFuture writeWindowUpdate(
            ChannelHandlerContext ctx, int streamId, int increment, ChannelPromise promise) {
        ByteBuf out = room(ctx, HEADER_BYTES + Integer.BYTES);
        writeHeader(out, Integer.BYTES, Http2FrameTypes.WINDOW_UPDATE, 0, streamId);
        out.writeInt(increment);
        return complete(ctx, false, promise);
    }

    private static void writeHeader(ByteBuf out, int bytes, byte type, int flags, int streamId) {
        out.writeMedium(bytes).writeByte(type).writeByte(flags).writeInt(streamId);
    }

    private static void setHeader(ByteBuf out, int at, int bytes, byte type, int flags, int streamId) {
        out.setMedium(at, bytes).setByte(at + 3, type).setByte(at + 4, flags).setInt(at + 5, streamId);
    }

    // The other frames are rare. Netty writes them, behind what was gathered.

    @Override
    public ChannelFuture writeHeaders(
            ChannelHandlerContext ctx,
            int streamId,
            Http2Headers headers,
            int dependency,
            short weight,
            boolean exclusive,
            int padding,
            boolean endStream,
            ChannelPromise promise) {
        handOver(ctx);
        return super.writeHeaders(ctx, streamId, headers, dependency, weight, exclusive, padding, endStream, promise);
    }

    @Override
    public ChannelFuture writeData(
            ChannelHandlerContext ctx,
            int streamId,
            ByteBuf data,
            int padding,
            boolean endStream,
            ChannelPromise promise) {
        handOver(ctx);
        return super.writeData(ctx, streamId, data, padding, endStream, promise);
    }

    @Override
    public ChannelFuture writePriority(
            ChannelHandlerContext ctx,
            int streamId,
            int dependency,
            short weight,
            boolean exclusive,
            ChannelPromise promise) {
        handOver(ctx);
        return super.writePriority(ctx, streamId, dependency, weight, exclusive, promise);
    }

    @Override
    public ChannelFuture writeRstStream(
            ChannelHandlerContext ctx, int streamId, long errorCode, ChannelPromise promise) {
        handOver(ctx);
        return super.writeRstStream(ctx, streamId, errorCode, promise);
    }

    @Override
    public ChannelFuture writeSettings(ChannelHandlerContext ctx, Http2Settings settings, ChannelPromise promise) {
        handOver(ctx);
        return super.writeSettings(ctx, settings, promise);
    }

    @Override
    public ChannelFuture writeSettingsAck(ChannelHandlerContext ctx, ChannelPromise promise) {
        handOver(ctx);
        return super.writeSettingsAck(ctx, promise);
    }

    @Override
    public ChannelFuture writePing(ChannelHandlerContext ctx, boolean ack, long data, ChannelPromise promise) {
        handOver(ctx);
        return super.writePing(ctx, ack, data, promise);
    }

    @Override
    public ChannelFuture writePushPromise(
            ChannelHandlerContext ctx,
            int streamId,
            int promisedStreamId,
            Http2Headers headers,
            int padding,
            ChannelPromise promise) {
        handOver(ctx);
        return super.writePushPromise(ctx, streamId, promisedStreamId, headers, padding, promise);
    }

    @Override
    public ChannelFuture writeGoAway(
            ChannelHandlerContext ctx, int lastStreamId, long errorCode, ByteBuf debugData, ChannelPromise promise) {
        handOver(ctx);
        return super.writeGoAway(ctx, lastStreamId, errorCode, debugData, promise);
    }

    @Override
    public ChannelFuture writeFrame(
            ChannelHandlerContext ctx,
            byte frameType,
            int streamId,
            Http2Flags flags,
            ByteBuf payload,
            ChannelPromise promise) {
        handOver(ctx);
        return super.writeFrame(ctx, frameType, streamId, flags, payload, promise);
    }

    /**
     * The connection is closed. Everything that was not passed on, and everything that follows, is
     * dropped.
     */
    @Override
    public void close() {
        closed = true;
        ByteBuf left = takeChunk();
        if (left != null) {
            left.release();
        }
        spares.forEach(ByteBuf::release);
        spares.clear();
        super.close();
    }
}
