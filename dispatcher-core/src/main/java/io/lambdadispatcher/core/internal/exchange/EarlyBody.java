package io.lambdadispatcher.core.internal.exchange;

import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * The part of a request's body that arrives before a worker stream is found, in order. Owns its
 * buffers: the parts that were added, and copies of small parts. Event loop only.
 */
final class EarlyBody {
    private final ArrayDeque<ByteBuf> parts = new ArrayDeque<>(4);

    /** The last part, if it consists of small parts and has room for more. */
    private @Nullable ByteBuf together;

    void add(ByteBuf part) {
        if (!part.isReadable()) {
            if (parts.isEmpty()) {
                parts.add(part);
            } else {
                part.release();
            }
            return;
        }
        ByteBuf before = together;
        together = SmallParts.add(before, part);
        if (together == null && before != null) {
            together = SmallParts.add(null, part);
        }
        if (together == null) {
            parts.add(part);
        } else if (together != before) {
            parts.add(together);
        }
    }

    boolean isEmpty() {
        return parts.isEmpty();
    }

    /** Returns by how many bytes the memory of the parts exceeds their content. */
    long overheadBytes() {
        long bytes = 0;
        ByteBuf before = null;
        for (ByteBuf part : parts) {
            ByteBuf whole = wholeOf(part);
            bytes += (whole == before ? 0 : whole.capacity()) - part.readableBytes();
            before = whole;
        }
        return Math.max(0, bytes);
    }

    private static ByteBuf wholeOf(ByteBuf part) {
        ByteBuf whole = part;
        for (ByteBuf next = whole.unwrap(); next != null; next = next.unwrap()) {
            whole = next;
        }
        return whole;
    }

    /** @return the next part, owned by the caller; {@code null} if there is none */
    @Nullable
    ByteBuf poll() {
        together = null;
        return parts.poll();
    }

    void release() {
        for (ByteBuf part = poll(); part != null; part = poll()) {
            part.release();
        }
    }
}
