package io.lambdadispatcher.worker.handler;

/** Why a request or a response ended before it was complete. */
public enum FailureReason {
    /**
     * The connection to the dispatcher was lost, or the dispatcher gave a reason that this version
     * does not know.
     */
    INTERNAL,
    /**
     * No code of the application has seen the request, so the dispatcher may send it to another
     * worker, whatever its method.
     */
    REFUSED,
    /** The client disconnected or reset its stream. */
    CANCELLED,
    /** The request's deadline passed. */
    TIMEOUT,
    /** The handler threw an exception, or its process failed. */
    HANDLER_FAILED,
    /**
     * The message breaks a rule of HTTP. For example, its body is not as long as {@code
     * content-length} says.
     */
    BAD_MESSAGE,
    /** The worker is exiting. */
    GOING_AWAY,
    /**
     * The response ended before the request's body did, and nobody needs the rest of that body (RFC
     * 9113 section 8.1, NO_ERROR).
     */
    NOT_NEEDED
}
