package io.lambdadispatcher.core.internal.ingress.edge;

import io.netty.channel.Channel;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;

/** All open client connections, which can be drained. Any thread. */
public final class IngressDrain {
    /**
     * Time in which a request arrives that was in transit when its connection began to drain, if
     * nothing has measured the path: longer than a round trip by satellite.
     */
    public static final long TRANSIT_MILLIS = 2_000;

    /** The protocol handler of a connection. */
    public interface Drainable {
        /**
         * Accepts no request after those in transit, and closes the connection when they are
         * answered. Further calls have no effect. Event loop only.
         */
        void drain();
    }

    private final Map<Channel, Drainable> open = new ConcurrentHashMap<>();
    private final Set<Channel> tunnels = ConcurrentHashMap.newKeySet();
    private final CompletableFuture<Void> empty = new CompletableFuture<>();
    private final CompletableFuture<Void> closed = new CompletableFuture<>();
    private volatile boolean draining;

    /**
     * Sets the handler of a connection. Replaces the previous handler, for example after an
     * upgrade. Event loop of {@code channel}.
     */
    public void register(Channel channel, Drainable handler) {
        if (open.put(channel, handler) == null) {
            channel.closeFuture().addListener(gone -> {
                open.remove(channel);
                tunnels.remove(channel);
                completeIfDone();
            });
        }
        if (draining) {
            handler.drain();
        }
    }

    /**
     * Excepts a connection that has become a tunnel, or that has only tunnels left, from what
     * {@link #begin} waits for. Their workers end them. If the drain waited for them, the workers
     * would not be told to drain in time. Further calls have no effect. Event loop of {@code
     * channel}.
     */
    public void leave(Channel channel) {
        if (open.containsKey(channel)) {
            tunnels.add(channel);
            open.remove(channel);
            completeIfDone();
        }
    }

    /** Closes a connection, unless its handler has been replaced. Event loop of {@code channel}. */
    public void closeUnlessReplaced(Channel channel, Drainable handler) {
        if (open.get(channel) == handler) {
            channel.close();
        }
    }

    /** Drains each connection. Completes when all are closed, except tunnels. */
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

    /**
     * Completes when each connection that is drained has closed, tunnels included. Then all that
     * was written to it has reached its socket.
     */
    public CompletionStage<Void> closed() {
        return closed;
    }

    private void completeIfDone() {
        if (draining && open.isEmpty()) {
            empty.complete(null);
            if (tunnels.isEmpty()) {
                closed.complete(null);
            }
        }
    }
}
