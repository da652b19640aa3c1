package io.lambdadispatcher.worker.internal.connect;

import io.lambdadispatcher.worker.handler.DownstreamShareListener;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.internal.exchange.FailureLog;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * The number of downstream connections that one worker may have. Passes it to the handler, and
 * knows what the handler has confirmed, which the worker reports to the dispatcher. If the handler
 * is no {@link DownstreamShareListener}, it confirms nothing, so the dispatcher tells it nothing.
 *
 * <p><i>Threading:</i> confined to the worker's home event loop, except {@link #tell} and {@link
 * #confirmed}, which any thread may call.
 */
public final class DownstreamShare {
    private final Handler handler;
    private final @Nullable DownstreamShareListener listener;
    private final Executor home;
    private int told;
    private boolean ended;
    private volatile int confirmed;

    /** @param home the home event loop */
    public DownstreamShare(Handler handler, Executor home) {
        this.handler = handler;
        this.listener = handler.implementation() instanceof DownstreamShareListener its ? its : null;
        this.home = home;
    }

    /**
     * Tells the handler the share with which the worker was launched.
     *
     * @param connections 0 = there is no limit, so the handler is not told
     * @return completes when the handler keeps to it
     */
    public CompletionStage<?> start(int connections) {
        return connections == 0 ? CompletableFuture.completedFuture(null) : apply(connections);
    }

    /** The dispatcher has told the worker another share. Any thread. */
    void tell(int connections) {
        home.execute(() -> {
            if (connections != told && !ended) {
                apply(connections).exceptionally(failure -> {
                    FailureLog.report("listener of the downstream share", handler, failure);
                    return null;
                });
            }
        });
    }

    /**
     * Tells the handler to close all connections, if it has been told a share.
     *
     * @return completes when the handler has closed them, and never fails
     */
    public CompletionStage<?> end() {
        ended = true;
        confirmed = 0;
        return told == 0
                ? CompletableFuture.completedFuture(null)
                : apply(0).exceptionally(failure -> {
                    FailureLog.report("listener of the downstream share", handler, failure);
                    return null;
                });
    }

    private CompletionStage<Void> apply(int connections) {
        if (listener == null) {
            return CompletableFuture.completedFuture(null);
        }
        told = connections;
        CompletionStage<?> applied;
        try {
            applied =
                    Objects.requireNonNull(listener.onDownstreamShare(connections), "the result of onDownstreamShare");
        } catch (Throwable e) {
            // An error, such as a missing class, must end the worker, not only this task.
            applied = CompletableFuture.failedFuture(e);
        }
        return applied.thenRun(() -> home.execute(() -> {
            if (connections == told && !ended) {
                confirmed = connections;
            }
        }));
    }

    /** Returns the share to which the handler keeps; 0 = none, or not known. Any thread. */
    int confirmed() {
        return confirmed;
    }
}
