package io.lambdadispatcher.core.request;

import java.time.Duration;

/**
 * Reports that a request of the embedding program got no complete response. An HTTP client would
 * receive {@link #status()}, or an incomplete response.
 */
public final class DispatchException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String failure;
    private final int status;
    private final Duration retryAfter;

    /**
     * Creates the exception. Used by the dispatcher, and by tests of programs that embed it.
     *
     * @param failure the token of the failure, for example {@code queue_full}
     * @param retryAfter see {@link #retryAfter}
     */
    public DispatchException(String failure, int status, String detail, Duration retryAfter) {
        super(failure + ": " + detail);
        this.failure = failure;
        this.status = status;
        this.retryAfter = retryAfter;
    }

    /**
     * Returns the token of the failure, for example {@code queue_full}. {@code
     * docs/reference/failures.md} lists all tokens.
     */
    public String failure() {
        return failure;
    }

    /** Returns the HTTP status that corresponds to the failure. */
    public int status() {
        return status;
    }

    /**
     * Returns the time after which the request can be sent again. An HTTP client would receive it
     * in {@code retry-after}. Zero = the request may have been tried.
     */
    public Duration retryAfter() {
        return retryAfter;
    }
}
