package io.lambdadispatcher.core.spi;

import io.lambdadispatcher.wire.http.PrintableText;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Starts workers, for example as invocations of a Lambda function or as processes.
 *
 * <p><b>Threading.</b> Called on any thread, usually an event loop. Must not block, except in
 * {@link #close}. A call of 500 ms or more is logged.
 *
 * <p><b>Errors.</b> A launcher that throws or returns {@code null} has failed to launch a worker,
 * and launches continue with a backoff. A worker whose {@link LaunchedWorker#exit} fails is {@link
 * Cause#LOST}.
 */
public interface WorkerLauncher extends AutoCloseable {

    /**
     * The data that a new worker needs. Components may be added in later versions.
     *
     * @param function the function that the worker serves
     * @param workerId the worker's id, which is also part of the token
     * @param token the signed launch token, valid for this worker only
     * @param advertisedAddresses the addresses that the worker dials. It distributes its
     *     connections over all of them
     * @param connections the number of the worker's connections
     * @param streamsPerConnection the number of worker streams on each connection
     * @param tlsFingerprints the fingerprints of the public keys, one of which the worker port has,
     *     in hexadecimal. A worker accepts no other. Empty: the port has no TLS
     * @param maxLife the time within which the worker drains. Zero: only the platform limits the
     *     worker's life
     * @param version the version that the worker must have, as {@link #version} returned it. Empty:
     *     the one that the launcher uses by default
     * @param downstreamShare the number of connections that the worker may open to what all workers
     *     of the function share, for example to a database. 0: there is no limit
     */
    record LaunchRequest(
            String function,
            String workerId,
            String token,
            List<InetSocketAddress> advertisedAddresses,
            int connections,
            int streamsPerConnection,
            List<String> tlsFingerprints,
            Duration maxLife,
            String version,
            int downstreamShare) {}

    /** The reason why a worker exited. */
    enum Cause {
        /** The worker exited as intended. */
        ENDED,
        /**
         * The worker or its launch failed. For example, the function threw an exception, or
         * the process crashed. The worker does not run any more.
         */
        FAILED,
        /**
         * The launcher no longer knows whether the worker runs. For example, the connection to the
         * platform broke, or the platform cannot terminate a worker. Otherwise like {@link
         * #FAILED}.
         */
        LOST,
        /**
         * The launcher could not ask the platform, so no worker was started. For example, there is
         * no network, or there are no credentials. This says nothing about the function.
         */
        UNAVAILABLE,
        /** There is currently no capacity for another worker. */
        THROTTLED,
        /**
         * The platform still prepares the function or its network, so no worker was started. It
         * is temporary, and says nothing about the function. Requests wait within their queue
         * timeout.
         */
        NOT_READY,
        /**
         * Launches fail until the configuration is changed. For example, the function does not
         * exist, or there is no permission to invoke it.
         */
        REFUSED
    }

    /**
     * The result of a worker that exited or was not started.
     *
     * @param detail a description in one line, for logs. Control characters are escaped, and the
     *     middle of a very long description is left out
     */
    record WorkerExit(Cause cause, String detail) {
        public WorkerExit {
            Objects.requireNonNull(cause, "cause");
            detail = detail == null ? "the launcher gives no reason" : PrintableText.ofFailure(detail);
        }

        public boolean failed() {
            return cause != Cause.ENDED;
        }
    }

    /** A worker that has been launched. */
    interface LaunchedWorker {
        /**
         * Returns a stage that completes when the worker has exited or could not be started. It
         * never fails.
         */
        CompletionStage<WorkerExit> exit();

        /**
         * Terminates a worker that does not respond. Has no effect if the worker has exited. If
         * {@link #exit} does not complete within the launch timeout after it, the worker is {@link
         * Cause#LOST}.
         */
        void kill();
    }

    /** Starts a worker. Returns before the worker runs. */
    LaunchedWorker launch(LaunchRequest request);

    /**
     * Prepares the environments of {@code count} workers, so that the next launches are fast. These
     * workers do not dial in. Called from time to time. Default: does nothing.
     */
    default void warmUp(String function, int count) {}

    /**
     * Returns the version that new workers of a function have by default, as the workers name it.
     * For example, it is the version of an AWS Lambda alias. The dispatcher asks from time to time.
     * If the version changes, the dispatcher replaces the workers. Default: empty.
     *
     * @return the version, or an empty text if the function has only one. The stage fails if the
     *     version is not known at the moment. Then nothing changes
     */
    default CompletionStage<String> version(String function) {
        return CompletableFuture.completedStage("");
    }

    /**
     * Returns the version whose code is that of external workers, for a function that has them
     * beside launched workers. The dispatcher asks from time to time while such workers state a
     * version. If there is one, launched workers get it instead of that of {@link #version}.
     * Default: empty.
     *
     * @param stated the version that most of the external workers state, not empty
     * @return the version as launched workers name it, or an empty text if there is none. The stage
     *     fails if that is not known at the moment. Then nothing changes
     */
    default CompletionStage<String> versionLike(String function, String stated) {
        return CompletableFuture.completedStage("");
    }

    /** Ends all remaining workers, and waits for at most {@code grace} until they have exited. */
    void close(Duration grace);

    @Override
    default void close() {
        close(Duration.ofSeconds(5));
    }
}
