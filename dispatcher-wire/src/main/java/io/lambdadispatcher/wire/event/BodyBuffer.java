package io.lambdadispatcher.wire.event;

import io.lambdadispatcher.wire.http.ContentLength;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.OutputStream;
import org.jspecify.annotations.Nullable;

/**
 * Gathers a body in one piece on the heap, up to a limit. Its memory doubles when it is full, so
 * that each byte is copied a constant number of times.
 *
 * <p><b>Buffers.</b> Each part is copied and released on arrival. A retained slice of one byte
 * would keep the complete buffer that it was read into. The gathered memory belongs to this object
 * until {@link #take}, {@link #toArray} or {@link #release}.
 *
 * <p><b>Errors.</b> A body above the limit is dropped, including all later parts.
 *
 * <p><b>Threading.</b> One thread at a time.
 */
public final class BodyBuffer extends OutputStream {
    /** Initial memory for a body of unknown length. */
    private static final int FIRST_BYTES = 4 * 1024;

    /**
     * A client can announce a large body and send nothing. More memory than this is allocated only
     * for bytes that have arrived.
     */
    private static final int MAX_TRUSTED_BYTES = 256 * 1024;

    private final ByteBufAllocator memory;
    private final int firstBytes;
    private final int limitBytes;
    private @Nullable ByteBuf gathered;
    private boolean tooLarge;

    private BodyBuffer(ByteBufAllocator memory, int firstBytes, int limitBytes) {
        this.memory = memory;
        this.firstBytes = firstBytes;
        this.limitBytes = limitBytes;
    }

    /**
     * Returns a buffer for the body of a request, in pooled memory, which must be taken or
     * released. It is too large from the start if the request announces more than the limit.
     */
    public static BodyBuffer ofRequest(Http2Headers head, int limitBytes) {
        long announced = ContentLength.of(head);
        long first = announced < 0 ? FIRST_BYTES : Math.min(announced, MAX_TRUSTED_BYTES);
        BodyBuffer body = new BodyBuffer(ByteBufAllocator.DEFAULT, (int) Math.min(first, limitBytes), limitBytes);
        body.tooLarge = announced > limitBytes;
        return body;
    }

    /**
     * Returns a buffer for a body that becomes an array. An array of exactly {@code expectedBytes}
     * is not copied at the end. A body that arrives as one part with its own array is not copied
     * either.
     *
     * @param expectedBytes initial memory; -1 if unknown
     */
    public static BodyBuffer ofArray(int expectedBytes, int limitBytes) {
        int first = Math.min(expectedBytes < 0 ? FIRST_BYTES : expectedBytes, limitBytes);
        return new BodyBuffer(UnpooledByteBufAllocator.DEFAULT, first, limitBytes);
    }

    /** Returns the size of the allocated memory in bytes, which can be more than has arrived. */
    public int capacityBytes() {
        return gathered == null ? 0 : gathered.capacity();
    }

    /** Returns whether the body is, or was announced to be, larger than the limit. */
    public boolean isTooLarge() {
        return tooLarge;
    }

    /**
     * Adds a part of the body.
     *
     * @param part is released in all cases; its content must not change any more
     * @return false if the body is too large
     */
    public boolean add(ByteBuf part) {
        try {
            int bytes = part.readableBytes();
            if (!fits(bytes)) {
                return false;
            }
            if (gathered == null && isArrayOfItsOwn(part)) {
                gathered = part.retain();
            } else if (bytes > 0) {
                room(bytes).writeBytes(part);
            }
            return true;
        } finally {
            part.release();
        }
    }

    /**
     * Adds bytes like {@link #add}.
     *
     * @throws EventTooLargeException beyond the limit
     */
    @Override
    public void write(byte[] from, int offset, int length) {
        verify(length);
        room(length).writeBytes(from, offset, length);
    }

    @Override
    public void write(int value) {
        verify(1);
        room(1).writeByte(value);
    }

    private void verify(int bytes) {
        if (!fits(bytes)) {
            throw new EventTooLargeException(limitBytes);
        }
    }

    private boolean fits(int bytes) {
        int size = gathered == null ? 0 : gathered.readableBytes();
        if (tooLarge || bytes > limitBytes - size) {
            tooLarge = true;
            release();
        }
        return !tooLarge;
    }

    private boolean isPooled() {
        return memory != UnpooledByteBufAllocator.DEFAULT;
    }

    /** Returns whether the part's array contains nothing else, and nobody will reuse its memory. */
    private boolean isArrayOfItsOwn(ByteBuf part) {
        return !isPooled()
                && part.alloc() instanceof UnpooledByteBufAllocator
                && part.hasArray()
                && part.isReadable()
                && part.array().length == part.readableBytes();
    }

    /** Netty's own growth, in steps of 4 MiB, would copy a large body many times. */
    private ByteBuf room(int bytes) {
        ByteBuf full = gathered;
        if (full != null && full.writableBytes() >= bytes) {
            return full;
        }
        int size = full == null ? 0 : full.readableBytes();
        int wanted = full == null ? firstBytes : (int) Math.min(limitBytes, 2L * full.capacity());
        ByteBuf larger = memory.heapBuffer(Math.max(size + bytes, wanted));
        if (full != null) {
            larger.writeBytes(full);
            full.release();
        }
        gathered = larger;
        return larger;
    }

    /** Returns the body and forgets it. The caller must release it. It is on the heap. */
    public ByteBuf take() {
        ByteBuf all = gathered == null ? Unpooled.EMPTY_BUFFER : gathered;
        gathered = null;
        return all;
    }

    /** Returns the body and forgets it. It is copied, except in the cases of {@link #ofArray}. */
    public byte[] toArray() {
        ByteBuf all = take();
        try {
            return ByteBufUtil.getBytes(all, all.readerIndex(), all.readableBytes(), isPooled());
        } finally {
            all.release();
        }
    }

    /** Drops the body. Further calls have no effect. */
    public void release() {
        take().release();
    }
}
