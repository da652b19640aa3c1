package io.lambdadispatcher.core.internal.exchange;

import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * Joins small parts of a waiting body by copying them. A part that is not copied keeps the complete
 * buffer that it was read into, up to 64 KiB, so a window in bytes would not limit the memory of a
 * client. Event loop only.
 */
public final class SmallParts {
    /** Maximum size of a part that is copied. */
    static final int MAX_PART_BYTES = 8 * 1024;

    /** Maximum size of a joined buffer. */
    static final int MAX_BYTES = 16 * 1024;

    private static final int FIRST_BYTES = 256;

    private SmallParts() {}

    /**
     * Adds a part behind others.
     *
     * @param joined buffer that an earlier call returned, owned by the caller; {@code null} if
     *     there is none
     * @param part remains the caller's if the result is {@code null}; otherwise it is released,
     *     even if there is no memory
     * @return {@code joined} or a new buffer, owned by the caller; {@code null} if the part is too
     *     large, or {@code joined} too full
     */
    public static @Nullable ByteBuf add(@Nullable ByteBuf joined, ByteBuf part) {
        int bytes = part.readableBytes();
        if (bytes > MAX_PART_BYTES || joined != null && bytes > joined.maxWritableBytes()) {
            return null;
        }
        try {
            ByteBuf to = joined == null ? part.alloc().buffer(Math.max(bytes, FIRST_BYTES), MAX_BYTES) : joined;
            return to.writeBytes(part);
        } finally {
            part.release();
        }
    }

    /**
     * Adds a part as {@link #add} does, but to a new buffer if {@code joined} is too full.
     *
     * @return {@code null} if the part is too large
     */
    public static @Nullable ByteBuf addOrBegin(@Nullable ByteBuf joined, ByteBuf part) {
        ByteBuf to = add(joined, part);
        return to == null && joined != null ? add(null, part) : to;
    }
}
