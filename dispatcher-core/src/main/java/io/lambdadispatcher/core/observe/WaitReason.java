package io.lambdadispatcher.core.observe;

import java.util.Locale;

/** Why a request is queued, from what was known when it was queued. */
public enum WaitReason {
    /** No worker is ready, but workers have been launched or are about to be. */
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
    CLIENT_SHARE;

    private final String token = name().toLowerCase(Locale.ROOT);

    /** Returns the name in lower case, as logs, metrics and traces show it. */
    public String token() {
        return token;
    }
}
