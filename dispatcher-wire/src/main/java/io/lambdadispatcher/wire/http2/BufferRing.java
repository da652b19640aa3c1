package io.lambdadispatcher.wire.http2;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** First in, first out, without an object per entry. Owns the buffers in it. */
final class BufferRing {
    // Small, for there is one for each request; a power of two.
    private @Nullable ByteBuf[] buffers = new ByteBuf[2];
    private boolean[] bodies = new boolean[2];
    private int head;
    private int count;

    void add(ByteBuf octets, boolean body) {
        if (count == buffers.length) {
            grow();
        }
        int at = head + count & buffers.length - 1;
        buffers[at] = octets;
        bodies[at] = body;
        count++;
    }

    /** Of the first entry; true if there is none. */
    boolean isBody() {
        return count == 0 || bodies[head];
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

    private void grow() {
        int oldLength = buffers.length;
        rotateToFront();
        buffers = Arrays.copyOf(buffers, oldLength * 2);
        bodies = Arrays.copyOf(bodies, oldLength * 2);
    }

    private void rotateToFront() {
        @Nullable ByteBuf[] oldBuffers = buffers.clone();
        boolean[] oldBodies = bodies.clone();
        for (int i = 0; i < count; i++) {
            int from = head + i & oldBuffers.length - 1;
            buffers[i] = oldBuffers[from];
            bodies[i] = oldBodies[from];
        }
        head = 0;
    }
}
