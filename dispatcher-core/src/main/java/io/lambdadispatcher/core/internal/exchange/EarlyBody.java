package io.lambdadispatcher.core.internal.exchange;

import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * What arrives of a request's body before a worker stream is there, in order. Owns its buffers: those that were added, but for small ones behind others, which are
 * copied into buffers made here. Event loop only.
 */
final class EarlyBody {
    private final ArrayDeque<ByteBuf> parts = new ArrayDeque<>(4);

    /** The last one, if it is of small parts and can take more. */
    private @Nullable ByteBuf together;

    void add(ByteBuf part) {
        if (parts.isEmpty()) {
            parts.add(part);
            return;
        }
        if (!part.isReadable()) {
            part.release();
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

    /** @return the next one, the caller's; {@code null} if there is none */
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
