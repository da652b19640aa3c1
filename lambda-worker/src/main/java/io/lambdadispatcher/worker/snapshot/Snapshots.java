package io.lambdadispatcher.worker.snapshot;

/** Registers listeners for snapshots of the process. Any thread. */
@FunctionalInterface
public interface Snapshots {
    /**
     * Registers a listener, which is called at each snapshot.
     *
     * @param listener kept for the life of the process
     */
    void register(SnapshotListener listener);

    /**
     * Returns the snapshots of this process. Without {@code org.crac} on the class path, there are
     * none.
     */
    static Snapshots ofProcess() {
        try {
            return CracSnapshots.ofProcess();
        } catch (LinkageError e) {
            // org.crac is an optional dependency.
            return listener -> {};
        }
    }
}
