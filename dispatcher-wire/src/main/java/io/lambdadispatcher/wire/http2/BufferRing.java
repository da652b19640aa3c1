package io.lambdadispatcher.wire.http2;

import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * First in, first out, without an object per entry. Owns the buffers in it.
 *
 * <p>Bodies may come from application code, which may release or change a buffer after it has given
 * it away. A guarded ring holds each body twice and notes its length, so that {@link #isIntact}
 * tells before a byte of it is written, and so that the buffer's memory is not somebody else's by
 * then.
 */
final class BufferRing {
    /**
     * The mark of a buffer that we made. A body's mark is twice its bytes, plus {@link #HELD} if it
     * is held twice.
     */
    private static final int META = -1;

    private static final int HELD = 1;

    private final boolean guarded;

    // Small, because there is one for each request; a power of two.
    private @Nullable ByteBuf[] buffers = new ByteBuf[2];
    // Most rings never hold anything but bodies that we have read ourselves.
    private int @Nullable [] marks;
    private int head;
    private int count;

    BufferRing(boolean guarded) {
        this.guarded = guarded;
    }

    void add(ByteBuf buffer, boolean body) {
        if (count == buffers.length) {
            grow();
        }
        int at = head + count & buffers.length - 1;
        buffers[at] = buffer;
        if (!body && marks == null) {
            marks = unheldMarks();
        }
        if (marks != null) {
            marks[at] = body ? markOf(buffer) : META;
        }
        count++;
    }

    /** Of the bodies that came before the first buffer of ours. */
    private int[] unheldMarks() {
        int[] unheld = new int[buffers.length];
        for (int i = 0; i < buffers.length; i++) {
            ByteBuf buffer = buffers[i];
            unheld[i] = buffer == null ? 0 : buffer.readableBytes() << 1;
        }
        return unheld;
    }

    /** An unreleasable buffer cannot be held twice, and need not be. */
    private int markOf(ByteBuf buffer) {
        int mark = buffer.readableBytes() << 1;
        return guarded && buffer.retain().refCnt() > 1 ? mark | HELD : mark;
    }

    /** Of the first entry; true if there is none. */
    boolean isBody() {
        return count == 0 || marks == null || marks[head] != META;
    }

    /** Whether {@link #take} of so many bytes gives the first entry itself. */
    boolean isFirstWithin(int maxBytes) {
        ByteBuf first = buffers[head];
        return first != null && first.readableBytes() <= maxBytes;
    }

    /**
     * Whether the next {@code bytes} to be taken are those that were added, as far as can be seen.
     */
    boolean isIntact(int bytes) {
        int[] own = marks;
        if (own == null || !guarded) {
            return true;
        }
        int left = bytes;
        for (int i = 0; i < count && left > 0; i++) {
            int at = head + i & buffers.length - 1;
            ByteBuf buffer = buffers[at];
            int mark = own[at];
            if (buffer == null || mark != META && isBroken(buffer, mark)) {
                return false;
            }
            left -= buffer.readableBytes();
        }
        return left <= 0;
    }

    private static boolean isBroken(ByteBuf buffer, int mark) {
        return buffer.refCnt() <= (mark & HELD) || buffer.readableBytes() != mark >> 1;
    }

    /**
     * At most {@code maxBytes} of the first entry, the caller's from now on: the entry itself or a
     * retained slice of its front.
     *
     * @throws IllegalStateException if there is none
     */
    ByteBuf take(int maxBytes) {
        ByteBuf first = buffers[head];
        if (first == null) {
            throw new IllegalStateException("took from an empty ring");
        }
        if (first.readableBytes() > maxBytes) {
            if (marks != null && marks[head] != META) {
                marks[head] -= maxBytes << 1;
            }
            return first.readRetainedSlice(maxBytes);
        }
        if (marks != null && marks[head] != META && (marks[head] & HELD) != 0) {
            first.release();
        }
        removeFirst();
        return first;
    }

    private void removeFirst() {
        buffers[head] = null;
        head = head + 1 & buffers.length - 1;
        count--;
    }

    /**
     * Releases the broken ones among them as far as they can be.
     *
     * @return the bytes of bodies that were added and not taken
     */
    int releaseAll() {
        int bodyBytes = 0;
        while (count > 0) {
            ByteBuf buffer = buffers[head];
            int mark = marks == null ? 0 : marks[head];
            if (buffer != null) {
                if (isBody()) {
                    bodyBytes += marks == null ? buffer.readableBytes() : mark >> 1;
                }
                drop(buffer, mark != META && (mark & HELD) != 0 ? 2 : 1);
            }
            removeFirst();
        }
        return bodyBytes;
    }

    private static void drop(ByteBuf buffer, int times) {
        int held = Math.min(times, buffer.refCnt());
        if (held > 0) {
            buffer.release(held);
        }
    }

    /** To twice the size, with the first entry in front. */
    private void grow() {
        int mask = buffers.length - 1;
        @Nullable ByteBuf[] larger = new ByteBuf[buffers.length * 2];
        int @Nullable [] largerMarks = marks == null ? null : new int[larger.length];
        for (int i = 0; i < count; i++) {
            int from = head + i & mask;
            larger[i] = buffers[from];
            if (largerMarks != null && marks != null) {
                largerMarks[i] = marks[from];
            }
        }
        buffers = larger;
        marks = largerMarks;
        head = 0;
    }
}
