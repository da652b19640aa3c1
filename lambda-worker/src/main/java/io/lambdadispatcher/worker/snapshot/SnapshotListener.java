package io.lambdadispatcher.worker.snapshot;

/**
 * Somebody whose sockets must not be part of a snapshot. Called on the thread that takes it, one
 * listener after the other: before the checkpoint in the reverse order of registration, after the
 * restore in that order. What is thrown fails the checkpoint, or the restore.
 *
 * <p>A handler that {@link io.lambdadispatcher.worker.LambdaHandler} serves with is registered if
 * it is one.
 */
public interface SnapshotListener {
    /** By its end no connection is open. */
    void beforeCheckpoint() throws Exception;

    /** Lambda allows ten seconds for all listeners together. */
    void afterRestore() throws Exception;
}
