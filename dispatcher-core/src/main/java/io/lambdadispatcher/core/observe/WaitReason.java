package io.lambdadispatcher.core.observe;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Why a request is queued, from what was known when it was queued. */
public enum WaitReason {
    /**
     * No worker is ready, or a WebSocket or server-sent events find only workers that are replaced
     * soon. Workers have been launched or are about to be.
     */
    WORKERS_STARTING,
    /** A launch limit delays launches, or launching is paused. */
    LAUNCHES_BLOCKED,
    /** No worker is connected, and this dispatcher launches none. */
    NO_WORKER,
    /** All worker streams have a request, and there are as many workers as the policy allows. */
    MAX_WORKERS,
    /** All worker streams have a request. */
    ALL_BUSY,
    /** The client has used its share of the worker streams. */
    CLIENT_SHARE,
    /** The worker of the request's session has no free worker stream. */
    SESSION_WORKER;

    private final String token = name().toLowerCase(Locale.ROOT);

    /**
     * Returns why requests of a function are queued that no client's share holds back. Any thread.
     *
     * @param streams number of open worker streams
     * @param capacity {@code null} if the dispatcher launches no workers of the function
     * @param maxWorkers maximum number of launched workers
     */
    public static WaitReason of(int streams, @Nullable CapacitySnapshot capacity, int maxWorkers) {
        if (capacity == null) {
            return streams == 0 ? NO_WORKER : ALL_BUSY;
        }
        if (capacity.blockedReason() != null) {
            return LAUNCHES_BLOCKED;
        }
        if (streams == 0 || capacity.starting() > 0) {
            return WORKERS_STARTING;
        }
        return capacity.desired() >= maxWorkers ? MAX_WORKERS : ALL_BUSY;
    }

    /** Returns the name in lower case, as logs, metrics and traces show it. */
    public String token() {
        return token;
    }
}
