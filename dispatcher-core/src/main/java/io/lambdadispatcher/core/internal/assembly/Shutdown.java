package io.lambdadispatcher.core.internal.assembly;

import io.lambdadispatcher.core.internal.engine.Engine;
import io.lambdadispatcher.core.internal.loop.LoopFuture;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Closes a dispatcher in order: public ports, requests, workers, what is left of both, then
 * launchers, filters, ledger and event loops. Any thread.
 */
public final class Shutdown {
    /** Maximum time in which clients take the answers to requests that fail at the end. */
    private static final long LAST_ANSWERS_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final DispatcherParts parts;
    private final Engine engine;
    private final AtomicReference<@Nullable CompletableFuture<Void>> closing = new AtomicReference<>();

    public Shutdown(DispatcherParts parts) {
        this.parts = parts;
        engine = parts.engine();
    }

    public boolean hasBegun() {
        return closing.get() != null;
    }

    /**
     * Begins, unless it has.
     *
     * @return completes when everything is closed, never exceptionally
     */
    public CompletionStage<Void> begin(Duration grace) {
        CompletableFuture<Void> done = new LoopFuture<>(parts.anyLoop());
        if (!closing.compareAndSet(null, done)) {
            return Objects.requireNonNull(closing.get());
        }
        parts.launches().stop();
        long deadlineNanos = System.nanoTime() + grace.toNanos();
        long clientsNanos = deadlineNanos - grace.toNanos() / 2;
        // Ports are closed before clients are told to go: who dials again is refused then. On a
        // port that was still to be closed it would be taken, and reset.
        within(parts.clients().closePorts(), clientsNanos)
                .thenCompose(closed -> within(parts.clients().connections().begin(), clientsNanos))
                .thenCompose(gone -> within(engine.quiet(), clientsNanos))
                .thenCompose(quiet -> within(
                        parts.launches()
                                .registry()
                                .drainAll(Duration.ofNanos(Math.max(0, deadlineNanos - System.nanoTime()))),
                        deadlineNanos))
                // No worker comes any more.
                .thenCompose(drained -> within(engine.failQueued(), deadlineNanos, true))
                .thenCompose(failed -> awaitLastBytes(deadlineNanos).thenApply(sent -> failed))
                .whenComplete((failed, error) -> closeRest(failed != null && failed, done));
        return done;
    }

    /** Completes when the channels are closed. */
    static CompletableFuture<Void> closed(List<Channel> ports) {
        return CompletableFuture.allOf(ports.stream().map(Shutdown::closed).toArray(CompletableFuture<?>[]::new));
    }

    private static CompletableFuture<Void> closed(Channel port) {
        CompletableFuture<Void> closed = new CompletableFuture<>();
        ChannelFuture close = port.close();
        if (close.isDone()) {
            // If the embedding program has ended the port's event loop, no listener is called.
            closed.complete(null);
        } else {
            close.addListener(done -> closed.complete(null));
        }
        return closed;
    }

    /**
     * Waits for the last bytes of streams that the workers have ended. They may be on their way to
     * a client's event loop or socket.
     */
    private CompletableFuture<Void> awaitLastBytes(long deadlineNanos) {
        return within(engine.quiet(), deadlineNanos)
                .thenCompose(quiet -> within(parts.clients().connections().closed(), deadlineNanos));
    }

    /** Completes with {@code stage}, or at the deadline. */
    private static CompletableFuture<Void> within(CompletionStage<Void> stage, long deadlineNanos) {
        return stage.thenApply(Function.identity())
                .toCompletableFuture()
                .completeOnTimeout(null, leftNanos(deadlineNanos), TimeUnit.NANOSECONDS);
    }

    /** Completes with {@code stage}, or at the deadline with {@code late}. */
    private static CompletableFuture<Boolean> within(CompletionStage<Boolean> stage, long deadlineNanos, boolean late) {
        return stage.thenApply(Function.identity())
                .toCompletableFuture()
                .completeOnTimeout(late, leftNanos(deadlineNanos), TimeUnit.NANOSECONDS);
    }

    private static long leftNanos(long deadlineNanos) {
        return Math.max(1, deadlineNanos - System.nanoTime());
    }

    /**
     * Answers the requests that are left before their connections and the workers' close.
     *
     * @param failed whether others have just failed, and their answers may be on their way
     */
    private void closeRest(boolean failed, CompletableFuture<Void> done) {
        long deadlineNanos = System.nanoTime() + LAST_ANSWERS_NANOS;
        within(engine.failAll(), deadlineNanos, true)
                .thenCompose(any -> within(
                        any || failed ? parts.clients().connections().closed() : CompletableFuture.completedStage(null),
                        deadlineNanos))
                .whenComplete((answered, error) -> {
                    parts.launches().registry().goodbyeAll("the dispatcher shuts down");
                    parts.workers().port().close();
                    parts.close().whenComplete((closed, none) -> {
                        parts.closeWatches();
                        engine.shutdown(Duration.ofSeconds(2)).addListener(shut -> done.complete(null));
                    });
                });
    }
}
