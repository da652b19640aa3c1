package io.lambdadispatcher.server.live;

import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Why requests of a function wait.
 *
 * @param reason one of the constants, in lower case
 * @param detail a sentence for operators, without a full stop
 */
record QueueReason(String reason, String detail) {
    /** Launching is limited or paused. */
    private static final String LAUNCHES_BLOCKED = "launches_blocked";
    /** Workers have been launched and are not ready yet. */
    private static final String WORKERS_STARTING = "workers_starting";
    /** No worker is connected, and none is launched here. */
    private static final String NO_WORKER = "no_worker";
    /** All worker streams have a request, and there are as many workers as there may be. */
    private static final String MAX_WORKERS = "max_workers";
    /** All worker streams have a request. */
    private static final String ALL_BUSY = "all_busy";

    /**
     * @param maxWorkers maximum number of launched workers
     * @return {@code null} if no request waits
     */
    static @Nullable QueueReason of(PoolSnapshot pool, @Nullable CapacitySnapshot capacity, int maxWorkers) {
        if (pool.queued() == 0) {
            return null;
        }
        String now = pool.readyWorkers() == 0
                ? "no worker is ready"
                : String.format(Locale.ROOT, "%d of %d worker streams are free", pool.free(), pool.streams());
        if (capacity != null && capacity.blockedReason() != null) {
            return new QueueReason(LAUNCHES_BLOCKED, now + ", and launching is limited: " + capacity.blockedReason());
        }
        if (capacity != null && capacity.starting() > 0) {
            return new QueueReason(WORKERS_STARTING, now + ", and " + capacity.starting() + " workers are starting");
        }
        if (pool.readyWorkers() == 0) {
            return new QueueReason(
                    NO_WORKER, capacity == null ? now + ", and none is launched here" : now + ", and none is starting");
        }
        return capacity != null && capacity.desired() >= maxWorkers
                ? new QueueReason(MAX_WORKERS, now + ", and function.max-workers (" + maxWorkers + ") is reached")
                : new QueueReason(ALL_BUSY, now);
    }
}
