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
    /** Buffers, and trailers as the last one. */
    private final Queue<Object> parts = new ArrayDeque<>(1);

    private int bytes;
    private int held;

    /** Takes ownership. */
    void add(ByteBuf data) {
        bytes += data.readableBytes();
        parts.add(data);
    }

    void add(Http2Headers trailers) {
        parts.add(trailers);
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
        return parts.isEmpty();
    }

    /** Returns the next buffer, with its ownership, or the trailers; {@code null} = nothing. */
    @Nullable
    Object poll() {
        return parts.poll();
    }

    /** Joins the buffers. The result remains the first part, and belongs to this. */
    ByteBuf gather() {
        List<ByteBuf> buffers = new ArrayList<>();
        while (parts.peek() instanceof ByteBuf) {
            buffers.add((ByteBuf) parts.remove());
        }
        Object trailers = parts.poll();
        ByteBuf body = Unpooled.wrappedBuffer(buffers.toArray(ByteBuf[]::new));
        if (!buffers.isEmpty()) {
            parts.add(body);
        }
        if (trailers != null) {
            parts.add(trailers);
        }
        return body;
    }

    void drop() {
        held = 0;
        parts.forEach(ReferenceCountUtil::release);
        parts.clear();
    }
}
