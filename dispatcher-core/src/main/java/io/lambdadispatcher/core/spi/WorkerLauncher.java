package io.lambdadispatcher.core.spi;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;

/** A place where workers can live. Called on any thread; must not block. */
public interface WorkerLauncher extends AutoCloseable {

    /**
     * What a new worker has to know.
     *
     * @param function the pool it will belong to
     * @param workerId its id, also inside the token
     * @param token the signed launch token, good for this worker only
     * @param dialBack where it dials; all of them, connections spread
     * @param connections how many it opens in all
     * @param streamsPerConnection worker streams on each
     * @param tls the worker port speaks TLS
     */
    record LaunchRequest(
            String function,
            String workerId,
            String token,
            List<InetSocketAddress> dialBack,
            int connections,
            int streamsPerConnection,
            boolean tls) {}

    /** How a worker ended: {@code failed} says that the launch or the worker failed. @param detail in one line, for logs */
    record WorkerExit(boolean failed, String detail) {}

    /** A worker that has been asked for. */
    interface LaunchedWorker {
        /** Completes, never exceptionally, when the worker is gone or could not be started. */
        CompletionStage<WorkerExit> exit();

        /** Ends it by force, for it does not answer any more. Harmless when it is gone. */
        void kill();
    }

    LaunchedWorker launch(LaunchRequest request);

    /** Ends all workers that are left; waits for them up to {@code grace}. */
    void close(Duration grace);

    @Override
    default void close() {
        close(Duration.ofSeconds(5));
    }
}
