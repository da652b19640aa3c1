package io.lambdadispatcher.bench.workload;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.concurrent.TimeUnit;

/**
 * Plays the distance of a peer on the loopback: what it sends arrives a round trip late, what it is
 * sent at once, which is the same to somebody who waits for answers. The first bytes of a
 * connection are later by one more, for the handshake of TCP. In order; on the channel's event
 * loop.
 */
final class RoundTrip extends ChannelInboundHandlerAdapter {
    private final long nanos;
    private long lastArrivalNanos;
    private boolean connected;

    RoundTrip(long nanos) {
        this.nanos = nanos;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object bytes) {
        long nowNanos = ctx.executor().ticker().nanoTime();
        long arrivalNanos = nowNanos + (connected ? nanos : 2 * nanos);
        if (connected) {
            arrivalNanos = Math.max(arrivalNanos, lastArrivalNanos);
        }
        connected = true;
        lastArrivalNanos = arrivalNanos;
        ctx.executor()
                .schedule(
                        () -> {
                            ctx.fireChannelRead(bytes);
                            ctx.fireChannelReadComplete();
                        },
                        arrivalNanos - nowNanos,
                        TimeUnit.NANOSECONDS);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        // Told after each arrival.
    }
}
