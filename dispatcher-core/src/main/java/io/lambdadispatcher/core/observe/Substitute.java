package io.lambdadispatcher.core.observe;

import java.util.Locale;

/** What answered a request instead of a worker of its function. */
public enum Substitute {
    /** A stored response that is still fresh. */
    CACHE,
    /** A stored response that is no longer fresh. */
    STALE,
    /** The response to an identical request that was in flight at the same time. */
    COLLAPSED,
    /** A {@link io.lambdadispatcher.core.spi.Filter} of the program. */
    FILTER;

    private final String token = name().toLowerCase(Locale.ROOT);

    /** Returns the name in lower case, as logs and metrics show it. */
    public String token() {
        return token;
    }
}
