package io.lambdadispatcher.core.internal.engine;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerAdapter;
import io.netty.channel.ChannelHandlerContext;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;

/**
 * Channels that were accepted, each until all its handlers know that it has closed. That is later
 * than its {@code closeFuture}: only then have they handed over to other event loops what is to be
 * known there. The first handler of every pipeline. Any thread.
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
     * The pipeline of a closed channel is taken down from its end: the first handler is the last to
     * go.
     */
    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        open.remove(ctx.channel());
        completeIfGone();
    }

    /** Also those that come from now on. @return completes when none is left */
    CompletableFuture<Void> closeAll() {
        closing = true;
        open.forEach(this::close);
        completeIfGone();
        return gone;
    }

    private void close(Channel channel) {
        try {
            // Past the pipeline: HTTP/2 would wait for its streams to end, which has been done.
            channel.eventLoop().execute(() -> channel.unsafe().close(channel.newPromise()));
        } catch (RejectedExecutionException e) {
            // The embedding program has ended its event loop, and the channel with it.
            open.remove(channel);
        }
    }

    private void completeIfGone() {
        if (closing && open.isEmpty()) {
            gone.complete(null);
        }
    }
}
