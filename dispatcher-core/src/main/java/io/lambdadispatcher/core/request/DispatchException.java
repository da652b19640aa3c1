package io.lambdadispatcher.core.request;

/**
 * Reports that a request of the embedding program got no complete response. An HTTP client would
 * receive {@link #status()}, or an incomplete response.
 */
public final class DispatchException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String failure;
    private final int status;

    /**
     * Creates the exception. Used by the dispatcher, and by tests of programs that embed it.
     *
     * @param failure the token of the failure, for example {@code queue_full}
     */
    public DispatchException(String failure, int status, String detail) {
        super(failure + ": " + detail);
        this.failure = failure;
        this.status = status;
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
}
