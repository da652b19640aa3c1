package io.lambdadispatcher.core.observe;

import java.util.Locale;

/** Why a request was sent to a worker more than once. */
public enum ExtraAttempt {
    /** The worker refused the request before any user code ran. */
    REFUSED,
    /** The worker or its connection was lost. */
    LOST,
    /** No headers of a response arrived within the attempt timeout. */
    TIMEOUT,
    /**
     * The handler responded with 500, 502, 503 or 504, or failed before the headers of its
     * response.
     */
    STATUS,
    /** The first attempt took longer than most, and continues. */
    HEDGE;

    private final String token = name().toLowerCase(Locale.ROOT);

    /** Returns the name in lower case, as logs and metrics show it. */
    public String token() {
        return token;
    }
}
