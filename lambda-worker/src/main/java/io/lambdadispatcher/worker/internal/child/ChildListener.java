package io.lambdadispatcher.worker.internal.child;

/** Learns about a child. Called on the thread of all children, which it must not block. */
public interface ChildListener {
    void onStarted(long pid);

    /**
     * The child has ended without being stopped, or could not be started. It is started again after
     * a wait.
     *
     * @param how description for logs
     */
    void onDied(String how);
}
