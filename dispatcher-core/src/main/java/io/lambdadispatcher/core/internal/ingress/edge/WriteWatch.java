package io.lambdadispatcher.core.internal.ingress.edge;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import org.jspecify.annotations.Nullable;

/**
 * Detects that a client's socket accepts bytes too slowly, whatever protocol wrote them. It checks
 * the channel's own queue, behind TLS. Writes are counted only between a check that finds bytes
 * waiting and one that does not, so a client that keeps up costs only the check. Event loop only.
 */
public final class WriteWatch {
    private final Channel channel;
    private @Nullable Counter counter;

    public WriteWatch(Channel channel) {
        this.channel = channel;
    }

    /**
     * Counts the bytes that are added to the channel's queue, which is not empty when this object
     * is created.
     */
    private static final class Counter extends ChannelOutboundHandlerAdapter {
        private final Pace pace = new Pace();
        private long bytes;

        Counter(long waitingBytes) {
            bytes = waitingBytes;
        }

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            bytes += message instanceof ByteBuf some ? some.readableBytes() : 0;
            ctx.write(message, promise);
        }
    }

    /**
     * Checks the client. It is waited for from the first check that finds bytes waiting.
     *
     * @param timeoutNanos maximum time in which the socket accepts no byte
     * @param minDataRate bytes per second, 0 for any rate
     */
    public boolean isTooSlow(long nowNanos, long timeoutNanos, int minDataRate) {
        ChannelOutboundBuffer queue = channel.unsafe().outboundBuffer();
        if (queue == null || queue.isEmpty()) {
            stop();
            return false;
        }
        long waiting = waitingBytes(queue);
        if (counter == null) {
            counter = new Counter(waiting);
            channel.pipeline().addFirst(counter);
        }
        return counter.pace.isTooSlow(nowNanos, true, counter.bytes - waiting, timeoutNanos, minDataRate);
    }

    private static long waitingBytes(ChannelOutboundBuffer queue) {
        long[] bytes = new long[1];
        try {
            queue.forEachFlushedMessage(message -> {
                bytes[0] += message instanceof ByteBuf some ? some.readableBytes() : 0;
                return true;
            });
        } catch (Exception e) {
            throw new IllegalStateException("the queue of a channel cannot be read", e);
        }
        return bytes[0];
    }

    /** Stops counting until the next check. */
    public void stop() {
        if (counter != null && channel.pipeline().context(counter) != null) {
            channel.pipeline().remove(counter);
        }
        counter = null;
    }
}
