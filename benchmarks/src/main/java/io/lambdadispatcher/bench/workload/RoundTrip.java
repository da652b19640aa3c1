package io.lambdadispatcher.bench.workload;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.concurrent.TimeUnit;

/**
 * Simulates the network delay of a distant peer on loopback. Received bytes are delayed by one
 * round trip, and sent bytes are not. A client that waits for answers cannot see the difference.
 * The first bytes of a connection are delayed by one more round trip, for the handshake of TCP.
 * Keeps the order. Confined to the channel's event loop.
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
        // Fired after each delayed read instead.
    }
}
