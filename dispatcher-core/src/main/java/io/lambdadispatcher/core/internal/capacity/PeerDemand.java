package io.lambdadispatcher.core.internal.capacity;

/**
 * What the other dispatchers of a fleet need and have of one function.
 *
 * @param streams worker streams that their clients need
 * @param workers workers that serve or start there, and that this dispatcher does not know
 * @param mayScaleIn whether this dispatcher may drain workers that are not needed. One dispatcher
 *     may at a time, otherwise each would drain one worker for the same reason
 * @param prepaid whether the spending limit is kept by a charge for each worker before its launch.
 *     If not, it limits the number of workers
 */
public record PeerDemand(double streams, int workers, boolean mayScaleIn, boolean prepaid) {
    /** There is no other dispatcher. */
    public static final PeerDemand NONE = new PeerDemand(0, 0, true, false);
}
