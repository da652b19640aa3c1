package io.lambdadispatcher.core.spi;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;

/**
 * Starts workers, for example as invocations of a Lambda function or as processes.
 *
 * <p><b>Threading.</b> Called on any thread. Must not block, except in {@link #close}.
 */
public interface WorkerLauncher extends AutoCloseable {

    /**
     * What a new worker has to know. Components may be added in later versions.
     *
     * @param function the function that it serves
     * @param workerId its id, which is also part of the token
     * @param token the signed launch token, valid for this worker only
     * @param advertisedAddresses the addresses that it dials. It spreads its connections over all
     *     of them
     * @param connections the number of its connections
     * @param streamsPerConnection the number of worker streams on each connection
     * @param tls whether the worker port has TLS
     * @param maxLife the worker drains before this time has passed. Zero: there is no limit except
     *     that of the place where it runs
     */
    record LaunchRequest(
            String function,
            String workerId,
            String token,
            List<InetSocketAddress> advertisedAddresses,
            int connections,
            int streamsPerConnection,
            boolean tls,
            Duration maxLife) {}

    /** Why a worker ended. */
    enum Cause {
        /** It ended as intended. */
        ENDED,
        /**
         * It or its launch failed: the function threw an exception, the process crashed, or the
         * network failed.
         */
        FAILED,
        /** There is no capacity for another worker at present. */
        THROTTLED,
        /**
         * It will not work until somebody changes something, for example because there is no such
         * function or no permission.
         */
        REFUSED
    }

    /** How a worker ended. @param detail in one line, for logs */
    record WorkerExit(Cause cause, String detail) {
        public boolean failed() {
            return cause != Cause.ENDED;
        }
    }

    /** A worker that has been launched. */
    interface LaunchedWorker {
        /** Completes when the worker has ended or could not be started. Never fails. */
        CompletionStage<WorkerExit> exit();

        /** Ends the worker by force, because it does not respond. Has no effect if it has ended. */
        void kill();
    }

    /** Starts a worker. Returns before it runs. */
    LaunchedWorker launch(LaunchRequest request);

    /**
     * Prepares the environments of {@code count} workers, so that the next launches are fast. These
     * workers do not dial in. Called from time to time. Default: does nothing.
     */
    default void warmUp(String function, int count) {}

    /** Ends all workers that are left, and waits for them for up to {@code grace}. */
    void close(Duration grace);

    @Override
    default void close() {
        close(Duration.ofSeconds(5));
    }
}
