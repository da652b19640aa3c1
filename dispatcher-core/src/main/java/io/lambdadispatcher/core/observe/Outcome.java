package io.lambdadispatcher.core.observe;

/** How an exchange ended. */
public enum Outcome {
    /**
     * The complete response of the worker or the function was passed on to the client's connection.
     * The client need not have received all of it.
     */
    COMPLETED,
    /**
     * The client disconnected or reset its stream first. For requests of {@code
     * Dispatcher.dispatch}, the program cancelled the request.
     */
    CANCELLED,
    /** The client received an error response of the dispatcher, or an incomplete response. */
    FAILED
}
