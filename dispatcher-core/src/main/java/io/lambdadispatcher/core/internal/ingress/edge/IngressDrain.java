package io.lambdadispatcher.core.internal.ingress.edge;

import io.netty.channel.Channel;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;

/** All open client connections, so that they can be told to end. Any thread. */
public final class IngressDrain {

    /** A connection's protocol handler. */
    public interface Drainable {
        /**
         * No new request after those on their way; close when they are answered. Event loop only;
         * harmless when repeated.
         */
        void drain();
    }

    private final Map<Channel, Drainable> open = new ConcurrentHashMap<>();
    private final CompletableFuture<Void> empty = new CompletableFuture<>();
    private volatile boolean draining;

    /** Event loop of {@code channel}. Replaces the handler before, e.g. after an upgrade. */
    public void register(Channel channel, Drainable handler) {
        if (open.put(channel, handler) == null) {
            channel.closeFuture().addListener(closed -> {
                open.remove(channel);
                completeIfDone();
            });
        }
        if (draining) {
            handler.drain();
        }
    }

    /**
     * Event loop of {@code channel}: what is left of the connection is a tunnel, which is its
     * worker's to end. Nobody waits for it here, or the worker would not be told to end before the
     * time is up.
     */
    public void leave(Channel channel) {
        open.remove(channel);
        completeIfDone();
    }

    /** Tells every connection to end; completes when all have closed, tunnels excepted. */
    public CompletionStage<Void> begin() {
        draining = true;
        open.forEach((channel, handler) -> channel.eventLoop().execute(() -> {
            Drainable current = open.get(channel);
            if (current != null) {
                current.drain();
            }
        }));
        completeIfDone();
        return empty;
    }

    private void completeIfDone() {
        if (draining && open.isEmpty()) {
            empty.complete(null);
        }
    }
}
