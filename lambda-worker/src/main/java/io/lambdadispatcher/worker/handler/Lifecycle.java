package io.lambdadispatcher.worker.handler;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * What a {@link Handler} implements that must be started before it can serve, or stopped when the process ends: child processes, pools. The worker
 * announces no worker streams until {@link #start} has completed.
 */
public interface Lifecycle {
    /**
     * Called before the first request, on Lambda during the function's initialisation; again by each further worker of the process, which must
     * be harmless and say the same. Must not block. Any thread.
     *
     * @return completes when requests may come; exceptionally: the worker ends with that error
     */
    CompletionStage<Void> start();

    /**
     * No request will come any more, for the process is about to end; also when {@link #start} has failed or has not completed. May block, for a few
     * seconds at most. Harmless when called again. Any thread.
     */
    void stop();

    /**
     * The worker begins to drain, or one of its dispatchers goes ({@link DrainReason#SHUTDOWN}) and the worker stays: what is under way and would go on for ever should
     * end, for it is broken off after {@code grace}. Once for each worker that has started and each dispatcher that goes, also when nothing is under way; requests may
     * still come, and further workers of the process. What belongs to one request hears of it by {@link Request#onDrain}. Must not block. On an event loop.
     *
     * @return completes when that has been passed on, within {@code grace}, for the worker does not end before; how it completes does not matter
     */
    default CompletionStage<?> onDrain(DrainReason reason, Duration grace) {
        return CompletableFuture.completedFuture(null);
    }
}
