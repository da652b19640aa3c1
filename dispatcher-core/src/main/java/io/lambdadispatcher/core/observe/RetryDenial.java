package io.lambdadispatcher.core.observe;

import java.util.Locale;

/** Why a request was not sent to a worker again, although an attempt failed or was slow. */
public enum RetryDenial {
    /** The policy does not name what happened. */
    NOT_ENABLED,
    /** The method is not idempotent, and there is no header {@code idempotency-key}. */
    NOT_IDEMPOTENT,
    /** The dispatcher does not hold all that was sent of the body, or the response has begun. */
    BODY_NOT_HELD,
    /** The policy's maximum number of attempts is reached. */
    MAX_ATTEMPTS,
    /** The function's budget of further attempts is used up. */
    BUDGET,
    /** Requests are queued, and another attempt would make them wait longer. */
    QUEUED,
    /** No other worker is free for a hedge. */
    NO_OTHER_WORKER,
    /** The request was sent directly, without a worker. */
    DIRECT;

    private final String token = name().toLowerCase(Locale.ROOT);

    /** Returns the name in lower case, as logs and metrics show it. */
    public String token() {
        return token;
    }
}
