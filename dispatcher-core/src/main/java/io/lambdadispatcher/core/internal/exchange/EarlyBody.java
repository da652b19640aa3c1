package io.lambdadispatcher.core.internal.exchange;

import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The part of a request's body that waits for a worker stream or for a handler, in order. Owns its
 * buffers: the parts that were added, and copies of small parts. Event loop only.
 */
public final class EarlyBody {
    private final ArrayDeque<ByteBuf> parts = new ArrayDeque<>(4);

    /** The last part, if it consists of small parts and has room for more. */
    private @Nullable ByteBuf joined;

    /** @param part owned by this method */
    public void add(ByteBuf part) {
        if (!part.isReadable()) {
            if (parts.isEmpty()) {
                parts.add(part);
            } else {
                part.release();
            }
            return;
        }
        ByteBuf previous = joined;
        joined = SmallParts.addOrBegin(previous, part);
        if (joined == null) {
            parts.add(part);
        } else if (joined != previous) {
            parts.add(joined);
        }
    }

    public boolean isEmpty() {
        return parts.isEmpty();
    }

    /** Passes each part to {@code action}, which does not own it. */
    void forEach(Consumer<? super ByteBuf> action) {
        parts.forEach(action);
    }

    /** Returns by how many bytes the memory of the parts exceeds their content. */
    long overheadBytes() {
        long bytes = 0;
        ByteBuf previous = null;
        for (ByteBuf part : parts) {
            ByteBuf root = rootOf(part);
            bytes += (root == previous ? 0 : root.capacity()) - part.readableBytes();
            previous = root;
        }
        return Math.max(0, bytes);
    }

    private static ByteBuf rootOf(ByteBuf part) {
        ByteBuf root = part;
        for (ByteBuf next = root.unwrap(); next != null; next = next.unwrap()) {
            root = next;
        }
        return root;
    }

    /** @return the next part, owned by the caller; {@code null} if there is none */
    public @Nullable ByteBuf poll() {
        ByteBuf first = parts.poll();
        joined = first == joined ? null : joined;
        return first;
    }

    /** Returns another body with the same parts, owned by the caller. */
    EarlyBody copy() {
        EarlyBody copy = new EarlyBody();
        // Not joined: small parts have been joined already.
        parts.forEach(part -> copy.parts.add(part.retainedDuplicate()));
        return copy;
    }

    /** Releases all parts. Returns the number of their bytes. */
    public int release() {
        int bytes = 0;
        for (ByteBuf part = poll(); part != null; part = poll()) {
            bytes += part.readableBytes();
            part.release();
        }
        return bytes;
    }
}
