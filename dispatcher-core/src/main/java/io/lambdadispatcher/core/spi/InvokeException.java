package io.lambdadispatcher.core.spi;

import io.lambdadispatcher.wire.http.PrintableText;
import org.jspecify.annotations.Nullable;

/**
 * Reports that an invocation has no result. The message is for logs, not for clients. Its control
 * characters are escaped, and the middle of a very long message is left out.
 */
public final class InvokeException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The reason why an invocation has no result. */
    public enum Reason {
        /**
         * {@code TooManyRequestsException}: too many invocations run concurrently. The function has
         * not begun.
         */
        THROTTLED,
        /**
         * AWS still prepares the function or its network. The function has not begun. The
         * dispatcher tries again within the queue timeout of the request.
         */
        NOT_READY,
        /** There is no such function, alias or version. */
        NOT_FOUND,
        /** There is no permission to invoke the function, or its state does not allow it. */
        REFUSED,
        /** {@code RequestTooLargeException}: the event is too large. */
        TOO_LARGE,
        /** There was no answer in time. The function may still be running. */
        TIMED_OUT,
        /** AWS could not be reached, or failed. */
        UNAVAILABLE
    }

    private final Reason reason;

    public InvokeException(Reason reason, String message, @Nullable Throwable cause) {
        super(PrintableText.ofFailure(message), cause);
        this.reason = reason;
    }

    public Reason reason() {
        return reason;
    }
}
