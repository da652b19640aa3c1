package io.lambdadispatcher.core.request;

/**
 * Reports that a request of the embedding program got no complete response. An HTTP client would
 * receive {@link #status()}, or an incomplete response.
 */
public final class DispatchException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String kind;
    private final int status;

    /**
     * Creates the exception. Used by the dispatcher, and by tests of programs that embed it.
     *
     * @param kind the stable name of the failure, for example {@code QUEUE_FULL}
     */
    public DispatchException(String kind, int status, String detail) {
        super(kind + ": " + detail);
        this.kind = kind;
        this.status = status;
    }

    /** Returns the stable name of the failure, for example {@code QUEUE_FULL}. */
    public String kind() {
        return kind;
    }

    /** Returns the HTTP status that corresponds to the failure. */
    public int status() {
        return status;
    }
}
