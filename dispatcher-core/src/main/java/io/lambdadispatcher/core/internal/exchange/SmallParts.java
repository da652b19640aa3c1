package io.lambdadispatcher.core.internal.exchange;

import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * Parts of a body that wait behind others, put together by copying: as a buffer of its own, a part of one octet takes hundreds, and keeps the whole buffer
 * that it was read into, so that what a window lets a client send would be no bound for what it can make us hold. Event loop only.
 */
public final class SmallParts {
    /** The largest part that is copied. */
    static final int MAX_PART_BYTES = 512;

    /** Of parts put together. */
    static final int MAX_BYTES = 16 * 1024;

    private static final int FIRST_BYTES = 1024;

    private SmallParts() {}

    /**
     * Puts a part behind others.
     *
     * @param together made here, the caller's; {@code null} = none yet
     * @param part the caller's if the answer is {@code null}, else released
     * @return {@code together} or a new buffer, the caller's; {@code null} if the part is too large, or {@code together} too full
     */
    public static @Nullable ByteBuf add(@Nullable ByteBuf together, ByteBuf part) {
        int bytes = part.readableBytes();
        if (bytes > MAX_PART_BYTES || together != null && bytes > together.maxWritableBytes()) {
            return null;
        }
        ByteBuf to = together == null ? part.alloc().buffer(FIRST_BYTES, MAX_BYTES) : together;
        try {
            return to.writeBytes(part);
        } finally {
            part.release();
        }
    }
}
