package io.lambdadispatcher.core.internal.engine;

import io.lambdadispatcher.core.internal.loop.Loops;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerAdapter;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The accepted channels. A channel stays here until all its handlers know that it is closed, which
 * is later than its {@code closeFuture}: only then have they passed on everything to other event
 * loops. This is the first handler of each pipeline. Any thread.
 */
@ChannelHandler.Sharable
final class AcceptedChannels extends ChannelHandlerAdapter {
    private final Set<Channel> open = ConcurrentHashMap.newKeySet();
    private final CompletableFuture<Void> gone = new CompletableFuture<>();
    private volatile boolean closing;

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        open.add(ctx.channel());
        if (closing) {
            close(ctx.channel());
        }
    }

    /**
     * The handlers of a closed channel are removed from the end of the pipeline, so the first
     * handler is removed last.
     */
    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        open.remove(ctx.channel());
        completeIfGone();
    }

    /**
     * Closes all channels, including those that are accepted from now on.
     *
     * @return completes when no channel is left
     */
    CompletableFuture<Void> closeAll() {
        closing = true;
        open.forEach(this::close);
        completeIfGone();
        return gone;
    }

    private void close(Channel channel) {
        // Bypasses the pipeline, because Netty's HTTP/2 handler would wait for its streams to end.
        // The dispatcher has already waited for them.
        if (!Loops.execute(channel.eventLoop(), () -> closeNow(channel))) {
            open.remove(channel);
        }
    }

    private static void closeNow(Channel channel) {
        ChannelOutboundBuffer unsent = channel.unsafe().outboundBuffer();
        if (unsent != null && unsent.totalPendingWriteBytes() > 0) {
            // A TCP reset. HTTP/1.0 clients would mistake a clean end for the response's end.
            channel.config().setOption(ChannelOption.SO_LINGER, 0);
        }
        channel.unsafe().close(channel.newPromise());
    }

    private void completeIfGone() {
        if (closing && open.isEmpty()) {
            gone.complete(null);
        }
    }
}
