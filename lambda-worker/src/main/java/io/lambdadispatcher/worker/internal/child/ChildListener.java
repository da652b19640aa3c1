package io.lambdadispatcher.worker.internal.child;

/**
 * Learns what becomes of a child; called on the thread of all children, where it must not block.
 */
public interface ChildListener {
    void onStarted(long pid);

    /**
     * It has ended without being asked to, or could not be started; it will be started again after
     * a while.
     *
     * @param how for logs
     */
    void onDied(String how);
}
