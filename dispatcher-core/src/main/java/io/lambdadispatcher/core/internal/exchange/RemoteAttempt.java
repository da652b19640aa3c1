package io.lambdadispatcher.core.internal.exchange;

/** An attempt that a worker stream of another event loop can carry. Called on the client's loop. */
public interface RemoteAttempt extends Attempt {
    /** The worker stream has accepted the headers. */
    void onArrived();

    /** Returns whether nobody waits for this attempt any more. */
    boolean isEnded();
}
