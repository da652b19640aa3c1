package io.lambdadispatcher.worker.handler;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Implemented by a handler of any kind that must be started before it can serve, or stopped when
 * the process ends, for example because it has child processes or connection pools. The worker
 * offers no streams to the dispatcher until {@link #start} has completed.
 */
public interface Lifecycle {
    /**
     * Starts the handler. Called before the first request, on Lambda during the function's
     * initialisation. Each further worker of the process calls it again, which must have no effect
     * except to return the same result. Must not block. Any thread.
     *
     * @return completes when requests may arrive. If it fails, the worker ends with that error
     */
    CompletionStage<Void> start();

    /**
     * Stops the handler. No more requests arrive, because the process is about to end. Called even
     * if {@link #start} has failed or has not completed. May block for a few seconds. Further calls
     * must have no effect. Any thread.
     */
    void stop();

    /**
     * The worker begins to drain, or one of its dispatchers shuts down ({@link
     * DrainReason#SHUTDOWN}) while the worker stays. End what would otherwise never end, because it
     * is broken off after {@code grace}. Requests may still arrive. Called once for each worker and
     * for each dispatcher that shuts down, even if nothing is in flight. Not called if a dispatcher
     * shuts down and others of its fleet serve the same workers. {@link Request#onDrain} tells
     * single requests, in all cases.
     *
     * <p>Called on an event loop, which it must not block.
     *
     * @return completes when everything has been told, within {@code grace}, because the worker
     *     does not end before. Its result is ignored
     */
    default CompletionStage<?> onDrain(DrainReason reason, Duration grace) {
        return CompletableFuture.completedFuture(null);
    }
}
