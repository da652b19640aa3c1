package io.lambdadispatcher.core.internal.ingress.edge;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import org.jspecify.annotations.Nullable;

/**
 * Finds out that a client's socket takes nothing, however the octets came to wait for it: looks at the channel's own queue, behind TLS and all protocols. A
 * single octet that is taken between two looks counts. Costs nothing but at a look. Event loop only.
 */
public final class WriteWatch {
    private final Channel channel;

    /** What the socket is to take next, at the last look. Compared only: it may have been released since. */
    private @Nullable Object first;

    private long takenOfFirst;

    /** Done when all has been taken that waited at an earlier look: a buffer that is first then may be the same one, in use again. */
    private ChannelFuture mark;

    private long stillSinceNanos;

    public WriteWatch(Channel channel) {
        this.channel = channel;
        this.mark = channel.newSucceededFuture();
    }

    /** Looks. The time in which nothing is taken begins at the first look that finds something waiting. */
    public boolean isStuck(long nowNanos, long timeoutNanos) {
        ChannelOutboundBuffer queue = channel.unsafe().outboundBuffer();
        Object next = queue == null ? null : queue.current();
        if (queue == null || next == null) {
            first = null;
            return false;
        }
        if (next == first && queue.currentProgress() == takenOfFirst && !mark.isDone()) {
            return nowNanos - stillSinceNanos > timeoutNanos;
        }
        if (mark.isDone()) {
            mark = mark();
        }
        first = queue.current();
        takenOfFirst = queue.currentProgress();
        stillSinceNanos = nowNanos;
        return false;
    }

    /** Past the pipeline, where an empty buffer could become a record of TLS. */
    private ChannelFuture mark() {
        ChannelPromise reached = channel.newPromise();
        channel.unsafe().write(Unpooled.EMPTY_BUFFER, reached);
        channel.unsafe().flush();
        return reached;
    }
}
