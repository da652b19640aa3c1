package io.lambdadispatcher.core.spi;

import org.jspecify.annotations.Nullable;

/** Why there is no result of an invocation. Its message is for logs, not for clients. */
public final class InvokeException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** What went wrong, by what can be done about it. */
    public enum Reason {
        /** {@code TooManyRequestsException}: too many at once. The function has not begun. */
        THROTTLED,
        /** No such function, alias or version. */
        NOT_FOUND,
        /** We may not invoke it, or it cannot be invoked as it is. */
        REFUSED,
        /** {@code RequestTooLargeException}: the event. */
        TOO_LARGE,
        /** No answer in time. The function may go on. */
        TIMED_OUT,
        /** AWS could not be reached, or failed. */
        UNAVAILABLE
    }

    private final Reason reason;

    public InvokeException(Reason reason, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.reason = reason;
    }

    public Reason reason() {
        return reason;
    }
}
