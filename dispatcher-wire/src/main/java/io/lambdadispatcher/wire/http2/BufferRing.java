package io.lambdadispatcher.wire.http2;

import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/** First in, first out, without an object per entry. Owns the buffers in it. */
final class BufferRing {
    // Small, for there is one for each request; a power of two.
    private @Nullable ByteBuf[] buffers = new ByteBuf[2];
    // Most rings never hold anything but bodies.
    private boolean @Nullable [] metas;
    private int head;
    private int count;

    void add(ByteBuf octets, boolean body) {
        if (count == buffers.length) {
            grow();
        }
        int at = head + count & buffers.length - 1;
        buffers[at] = octets;
        if (!body && metas == null) {
            metas = new boolean[buffers.length];
        }
        if (metas != null) {
            metas[at] = !body;
        }
        count++;
    }

    /** Of the first entry; true if there is none. */
    boolean isBody() {
        return count == 0 || metas == null || !metas[head];
    }

    /** Whether {@link #take} of so many octets gives the first entry itself. */
    boolean isFirstWithin(int maxBytes) {
        ByteBuf first = buffers[head];
        return first != null && first.readableBytes() <= maxBytes;
    }

    /**
     * At most {@code maxBytes} of the first entry, the caller's from now on: the entry itself or a retained slice of its front.
     *
     * @throws IllegalStateException if there is none
     */
    ByteBuf take(int maxBytes) {
        ByteBuf first = buffers[head];
        if (first == null) {
            throw new IllegalStateException("took from an empty ring");
        }
        if (first.readableBytes() > maxBytes) {
            return first.readRetainedSlice(maxBytes);
        }
        buffers[head] = null;
        head = head + 1 & buffers.length - 1;
        count--;
        return first;
    }

    /** @return the octets of body among what was released */
    int releaseAll() {
        int bodyBytes = 0;
        while (count > 0) {
            boolean body = isBody();
            ByteBuf octets = take(Integer.MAX_VALUE);
            bodyBytes += body ? octets.readableBytes() : 0;
            octets.release();
        }
        return bodyBytes;
    }

    /** To twice the size, with the first entry in front. */
    private void grow() {
        int mask = buffers.length - 1;
        @Nullable ByteBuf[] larger = new ByteBuf[buffers.length * 2];
        boolean @Nullable [] largerMetas = metas == null ? null : new boolean[larger.length];
        for (int i = 0; i < count; i++) {
            int from = head + i & mask;
            larger[i] = buffers[from];
            if (largerMetas != null && metas != null) {
                largerMetas[i] = metas[from];
            }
        }
        buffers = larger;
        metas = largerMetas;
        head = 0;
    }
}
