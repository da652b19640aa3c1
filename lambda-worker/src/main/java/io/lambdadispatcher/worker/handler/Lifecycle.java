package io.lambdadispatcher.worker.handler;

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

    /** Starts it if there is something to start. */
    static CompletionStage<Void> start(Handler handler) {
        return handler instanceof Lifecycle lifecycle ? lifecycle.start() : CompletableFuture.completedFuture(null);
    }

    static void stop(Handler handler) {
        if (handler instanceof Lifecycle lifecycle) {
            lifecycle.stop();
        }
    }
}
