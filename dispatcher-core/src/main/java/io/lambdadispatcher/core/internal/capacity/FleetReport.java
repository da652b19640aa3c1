package io.lambdadispatcher.core.internal.capacity;

import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What the fleet must know of one function at this dispatcher after an evaluation.
 *
 * @param workerIds the workers that this dispatcher launched or that are connected to it
 * @param streams worker streams that its clients need
 * @param ungranted how many more workers it would launch now if the fleet permitted them
 * @param uses what it knows of the workers that it launched or adopted
 * @param rollout the phase that a change to another version should have next; {@code null} = no
 *     change is wanted
 */
public record FleetReport(
        Set<String> workerIds,
        double streams,
        int ungranted,
        List<SlotUse> uses,
        @Nullable String rollout) {

    /**
     * How a worker uses its slot.
     *
     * @param everReady whether the worker has been ready
     * @param capacity whether it serves requests, or is expected to do so soon and for some time
     * @param connections the downstream connections that it may have; 0 or less = not limited, or
     *     not known
     */
    public record SlotUse(String workerId, boolean everReady, boolean capacity, int connections) {}
}
