package io.lambdadispatcher.server.live;

import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.DownstreamBudget;
import io.lambdadispatcher.wire.http.PrintableText;
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
     * @param policy how many workers may be launched
     * @return {@code null} if no request waits
     */
    static @Nullable QueueReason of(PoolSnapshot pool, @Nullable CapacitySnapshot capacity, CapacityPolicy policy) {
        if (pool.queued() == 0) {
            return null;
        }
        WaitReason reason = WaitReason.of(pool.streams(), capacity, policy.maxWorkers());
        String workers = pool.readyWorkers() == 0
                ? "no worker is ready"
                : String.format(Locale.ROOT, "%d of %d worker streams are free", pool.free(), pool.streams());
        return new QueueReason(
                reason,
                workers
                        + switch (reason) {
                            case LAUNCHES_BLOCKED -> ", and " + (capacity == null ? null : capacity.blockedReason());
                            case WORKERS_STARTING -> ", and " + starting(capacity == null ? 0 : capacity.starting());
                            case NO_WORKER -> ", and none is launched here";
                            case MAX_WORKERS -> maximum(policy);
                            case ALL_BUSY, CLIENT_SHARE, SESSION_WORKER -> "";
                        });
    }

    private static String maximum(CapacityPolicy policy) {
        DownstreamBudget downstream = policy.downstream();
        return downstream != null && policy.isCappedByDownstream()
                ? ", and function.downstream-connections (" + downstream.connections() + ") permits no more than "
                        + policy.maxWorkers() + " workers with " + downstream.share() + " connections each"
                : ", and function.max-workers (" + policy.maxWorkers() + ") is reached";
    }

    private static String starting(int workers) {
        return workers == 0
                ? "none is starting yet"
                : PrintableText.counted(workers, "worker is starting", "workers are starting");
    }
}
