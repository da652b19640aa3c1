package io.lambdadispatcher.wire.http2;

import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * A queue of buffers without an object for each entry. Owns the buffers in it.
 *
 * <p>Bodies can come from application code, which may wrongly release or change a buffer
 * afterwards. A guarded ring holds an additional reference to each body and stores its length, so
 * that {@link #isIntact} detects such a change before a byte is written, and so that the memory is
 * not reused before that.
 */
final class BufferRing {
    /**
     * Mark of a buffer that the program itself made. The mark of a body is twice its size, plus
     * {@link #HELD} if there is an additional reference.
     */
    private static final int META = -1;

    private static final int HELD = 1;

    private final boolean guarded;

    // Small, because there is one for each request. A power of two.
    private @Nullable ByteBuf[] buffers = new ByteBuf[2];
    // {@code null} in most rings, which contain only bodies that were read from a socket.
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

    /** Returns marks for the bodies that were added before the first other buffer. */
    private int[] unheldMarks() {
        int[] unheld = new int[buffers.length];
        for (int i = 0; i < buffers.length; i++) {
            ByteBuf buffer = buffers[i];
            unheld[i] = buffer == null ? 0 : buffer.readableBytes() << 1;
        }
        return unheld;
    }

    /** An unreleasable buffer cannot have an additional reference, and needs none. */
    private int markOf(ByteBuf buffer) {
        int mark = buffer.readableBytes() << 1;
        return guarded && buffer.retain().refCnt() > 1 ? mark | HELD : mark;
    }

    /** Returns whether the first entry is a body; true if there is none. */
    boolean isBody() {
        return count == 0 || marks == null || marks[head] != META;
    }

    /** Returns whether {@link #take} with this size returns the first entry itself. */
    boolean isFirstWithin(int maxBytes) {
        ByteBuf first = buffers[head];
        return first != null && first.readableBytes() <= maxBytes;
    }

    /**
     * Returns whether the next {@code bytes} are unchanged since they were added, as far as this
     * can be detected.
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
     * Returns at most {@code maxBytes} of the first entry: the entry itself or a retained slice of
     * its start. The caller must release it.
     *
     * @throws IllegalStateException if the ring is empty
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
     * Releases all entries, including broken ones as far as possible.
     *
     * @return size of the bodies that were added and not taken
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

    /** Doubles the size, with the first entry at the start. */
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
