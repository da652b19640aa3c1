package io.lambdadispatcher.wire.http2;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandler;

/**
 * One flush for all that is written to a channel in one turn of its event loop: sockets are read first, then tasks run, and this is one.
 * Confined to the channel's event loop; one per channel.
 */
public final class CoalescedFlush implements Runnable {
    private final ChannelOutboundHandler handler;
    private final ChannelHandlerContext ctx;
    private boolean scheduled;

    /** @param handler whose {@code flush} is called with its own {@code ctx}; for HTTP/2 this moves flow-controlled frames first */
    public CoalescedFlush(ChannelOutboundHandler handler, ChannelHandlerContext ctx) {
        this.handler = handler;
        this.ctx = ctx;
    }

    /** Flushes soon. Cheap when a flush is already on its way. */
    public void request() {
        if (!scheduled) {
            scheduled = true;
            ctx.executor().execute(this);
        }
    }

    @Override
    public void run() {
        scheduled = false;
        try {
            handler.flush(ctx);
        } catch (Exception e) {
            ctx.fireExceptionCaught(e);
        }
    }
}
