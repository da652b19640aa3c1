package io.lambdadispatcher.server.live;

import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.lambdadispatcher.core.observe.WaitReason;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Why requests of a function wait.
 *
 * @param reason also in metrics, the access log and traces
 * @param detail a sentence for operators, without a full stop
 */
record QueueReason(WaitReason reason, String detail) {
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
            return new QueueReason(
                    WaitReason.LAUNCHES_BLOCKED, now + ", and launching is limited: " + capacity.blockedReason());
        }
        if (capacity != null && capacity.starting() > 0) {
            return new QueueReason(
                    WaitReason.WORKERS_STARTING,
                    now + ", and " + (capacity.starting() == 1 ? "1 worker is" : capacity.starting() + " workers are")
                            + " starting");
        }
        if (pool.readyWorkers() == 0) {
            return new QueueReason(
                    WaitReason.NO_WORKER,
                    capacity == null ? now + ", and none is launched here" : now + ", and none is starting");
        }
        return capacity != null && capacity.desired() >= maxWorkers
                ? new QueueReason(
                        WaitReason.MAX_WORKERS, now + ", and function.max-workers (" + maxWorkers + ") is reached")
                : new QueueReason(WaitReason.ALL_BUSY, now);
    }
}
