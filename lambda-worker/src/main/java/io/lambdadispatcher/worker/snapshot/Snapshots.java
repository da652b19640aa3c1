package io.lambdadispatcher.worker.snapshot;

/** Where listeners register. Any thread. */
@FunctionalInterface
public interface Snapshots {
    /** @param listener kept as long as the process, and called at each snapshot */
    void register(SnapshotListener listener);

    /** Those of this process; none where {@code org.crac} is not on the class path. */
    static Snapshots ofProcess() {
        try {
            return CracSnapshots.ofProcess();
        } catch (LinkageError e) {
            // An optional dependency.
            return listener -> {};
        }
    }
}
