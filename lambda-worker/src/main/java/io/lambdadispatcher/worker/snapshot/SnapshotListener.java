package io.lambdadispatcher.worker.snapshot;

/**
 * Is told before a snapshot of the process and after its restore, so that no socket is part of the
 * snapshot. {@link io.lambdadispatcher.worker.LambdaHandler} registers its handler if the handler
 * implements this interface.
 *
 * <p><b>Threading.</b> Called on the thread that takes the snapshot, one listener after the other.
 * Before the checkpoint, the order is the reverse of the registration. After the restore, it is the
 * order of the registration.
 *
 * <p><b>Errors.</b> An exception fails the checkpoint or the restore.
 */
public interface SnapshotListener {
    /** Closes all connections. When this method returns, none may be open. */
    void beforeCheckpoint() throws Exception;

    /** Opens connections again. Lambda allows 10 s for all listeners together. */
    void afterRestore() throws Exception;
}
