package io.lambdadispatcher.core.internal.inprocess;

import io.lambdadispatcher.core.internal.exchange.SmallParts;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/** Parts of a request's body that wait for the handler. Small ones are joined. Not thread-safe. */
final class BodyParts {
    private final ArrayDeque<ByteBuf> parts = new ArrayDeque<>();

    /** The last part, if small ones may be added to it. */
    private @Nullable ByteBuf joined;

    /** @param data owned by this method */
    void add(ByteBuf data) {
        ByteBuf together = SmallParts.addOrBegin(joined, data);
        if (together == null || together != joined) {
            parts.add(together == null ? data : together);
        }
        joined = together;
    }

    boolean isEmpty() {
        return parts.isEmpty();
    }

    /** Returns the first part, which remains here; {@code null} if there is none. */
    @Nullable
    ByteBuf first() {
        return parts.peek();
    }

    /** Removes the first part, which the caller owns; {@code null} if there is none. */
    @Nullable
    ByteBuf poll() {
        ByteBuf first = parts.poll();
        joined = first == joined ? null : joined;
        return first;
    }

    int bytes() {
        return parts.stream().mapToInt(ByteBuf::readableBytes).sum();
    }

    /** Releases all. Returns the number of their bytes. */
    int drop() {
        int dropped = bytes();
        parts.forEach(ByteBuf::release);
        parts.clear();
        joined = null;
        return dropped;
    }
}
