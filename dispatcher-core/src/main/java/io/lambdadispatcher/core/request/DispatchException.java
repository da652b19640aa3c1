package io.lambdadispatcher.core.request;

/** There is no (whole) response: what an HTTP client would get as {@link #status()}, or as a stream cut short. */
public final class DispatchException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String kind;
    private final int status;

    /** @param kind a stable name, e.g. {@code QUEUE_FULL} */
    public DispatchException(String kind, int status, String detail) {
        super(kind + ": " + detail);
        this.kind = kind;
        this.status = status;
    }

    public String kind() {
        return kind;
    }

    /** The HTTP status that says the same. */
    public int status() {
        return status;
    }
}
