package io.lambdadispatcher.core.observe;

import java.util.Locale;

/** Which worker affinity chose for a request, and why. */
public enum SessionResult {
    /** The request has no session yet. It went to the least busy worker. */
    NEW,
    /** The request went to the worker of its session. */
    KEPT,
    /** The worker of the session is not connected, drains, is ejected or failed the request. */
    WORKER_GONE,
    /**
     * The worker of the session has no free worker stream, or too many requests in flight compared
     * with the other workers.
     */
    WORKER_FULL;

    private final String token = name().toLowerCase(Locale.ROOT);

    /** Returns the name in lower case, as logs and metrics show it. */
    public String token() {
        return token;
    }
}
