package io.lambdadispatcher.core.internal.capacity;

import org.jspecify.annotations.Nullable;

/**
 * The fleet at one evaluation of one function: what the other dispatchers need and have, and what
 * the fleet permits this dispatcher.
 *
 * @param streams worker streams that the clients of the other dispatchers need
 * @param workers workers that serve or start there, and that this dispatcher does not know
 * @param mayScaleIn whether this dispatcher may drain workers that are not needed. One dispatcher
 *     may at a time, otherwise each would drain one worker for the same reason
 * @param prepaid whether the spending limit is kept by a charge for each worker before its launch.
 *     If not, it limits the number of workers
 * @param affordable whether the spending limit of the fleet allows one more worker now
 * @param launchable how many workers may be launched now
 * @param rollout the part of this dispatcher in a change to another version; {@code null} in a
 *     fleet that has never been read
 */
public record FleetView(
        double streams,
        int workers,
        boolean mayScaleIn,
        boolean prepaid,
        boolean affordable,
        int launchable,
        Rollout.@Nullable Seat rollout) {
    /** There is no other dispatcher. */
    public static final FleetView ALONE = new FleetView(0, 0, true, false, true, Integer.MAX_VALUE, null);

    /** Returns whether the fleet has never been read, so nobody knows what it has spent. */
    boolean isUnread() {
        return prepaid && rollout == null;
    }
}
