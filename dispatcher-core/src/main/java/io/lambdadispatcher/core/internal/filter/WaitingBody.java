package io.lambdadispatcher.core.internal.filter;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/** The body of a request that waits for a filter. Confined to the client's event loop. */
final class WaitingBody {
    /** Buffers, and trailers as the last one; {@code null} = there never were any. */
    private @Nullable Queue<Object> parts;

    private int bytes;
    private int held;

    /** Takes ownership. */
    void add(ByteBuf data) {
        bytes += data.readableBytes();
        parts().add(data);
    }

    void add(Http2Headers trailers) {
        parts().add(trailers);
    }

    private Queue<Object> parts() {
        if (parts == null) {
            parts = new ArrayDeque<>();
        }
        return parts;
    }

    int bytes() {
        return bytes;
    }

    /** Returns how many bytes no longer count in the client's window. */
    int held() {
        return held;
    }

    /** Takes all bytes out of the client's window. Returns how many more these are. */
    int hold() {
        int more = bytes - held;
        held = bytes;
        return more;
    }

    boolean isEmpty() {
        return parts == null || parts.isEmpty();
    }

    /** Returns the next buffer, with its ownership, or the trailers; {@code null} = nothing. */
    @Nullable
    Object poll() {
        return parts == null ? null : parts.poll();
    }

    /** Joins the buffers. The result remains the first part, and belongs to this. */
    ByteBuf gather() {
        List<ByteBuf> buffers = new ArrayList<>();
        Queue<Object> all = parts();
        while (all.peek() instanceof ByteBuf) {
            buffers.add((ByteBuf) all.remove());
        }
        Object trailers = all.poll();
        ByteBuf body = Unpooled.wrappedBuffer(buffers.toArray(ByteBuf[]::new));
        if (!buffers.isEmpty()) {
            all.add(body);
        }
        if (trailers != null) {
            all.add(trailers);
        }
        return body;
    }

    void drop() {
        held = 0;
        if (parts != null) {
            parts.forEach(ReferenceCountUtil::release);
            parts.clear();
        }
    }
}
