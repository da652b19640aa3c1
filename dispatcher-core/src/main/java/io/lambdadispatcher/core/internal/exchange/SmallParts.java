package io.lambdadispatcher.core.internal.exchange;

import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * Joins parts of a body that wait, by copying them. A part that is kept as it came keeps the whole
 * buffer that it was read into, of up to 64 KiB, so a window of bytes would not bound the memory
 * that a client can make us hold. Event loop only.
 */
public final class SmallParts {
    /** The largest part that is copied. */
    static final int MAX_PART_BYTES = 8 * 1024;

    /** Of parts put together. */
    static final int MAX_BYTES = 16 * 1024;

    private static final int FIRST_BYTES = 256;

    private SmallParts() {}

    /**
     * Puts a part behind others.
     *
     * @param together made here, the caller's; {@code null} = none yet
     * @param part the caller's if the answer is {@code null}, else released
     * @return {@code together} or a new buffer, the caller's; {@code null} if the part is too
     *     large, or {@code together} too full
     */
    public static @Nullable ByteBuf add(@Nullable ByteBuf together, ByteBuf part) {
        int bytes = part.readableBytes();
        if (bytes > MAX_PART_BYTES || together != null && bytes > together.maxWritableBytes()) {
            return null;
        }
        ByteBuf to = together == null ? part.alloc().buffer(Math.max(bytes, FIRST_BYTES), MAX_BYTES) : together;
        try {
            return to.writeBytes(part);
        } finally {
            part.release();
        }
    }
}
