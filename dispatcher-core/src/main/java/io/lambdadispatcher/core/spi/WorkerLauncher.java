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
     * @param maxLife it ends by itself before it is older; zero = as the place it lives in has it
     */
    record LaunchRequest(
            String function,
            String workerId,
            String token,
            List<InetSocketAddress> dialBack,
            int connections,
            int streamsPerConnection,
            boolean tls,
            Duration maxLife) {}

    /** Why a worker is no more. */
    enum Cause {
        /** It came to the end it was to come to. */
        ENDED,
        /** It, or its launch, failed: the function threw, the process crashed, the network broke. */
        FAILED,
        /** There is no room for another one now. */
        THROTTLED,
        /** It will not work until somebody changes something: no such function, no permission. */
        REFUSED
    }

    /** How a worker ended. @param detail in one line, for logs */
    record WorkerExit(Cause cause, String detail) {
        public boolean failed() {
            return cause != Cause.ENDED;
        }
    }

    /** A worker that has been asked for. */
    interface LaunchedWorker {
        /** Completes, never exceptionally, when the worker is gone or could not be started. */
        CompletionStage<WorkerExit> exit();

        /** Ends it by force, for it does not answer any more. Harmless when it is gone. */
        void kill();
    }

    LaunchedWorker launch(LaunchRequest request);

    /**
     * Has the environments of {@code count} workers made ready, so that the next launches start fast; those workers do not dial in. Called now and then. Does nothing where there is nothing to
     * gain.
     */
    default void warmUp(String function, int count) {}

    /** Ends all workers that are left; waits for them up to {@code grace}. */
    void close(Duration grace);

    @Override
    default void close() {
        close(Duration.ofSeconds(5));
    }
}
