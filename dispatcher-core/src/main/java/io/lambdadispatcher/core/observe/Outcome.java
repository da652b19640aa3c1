package io.lambdadispatcher.core.observe;

/** How an exchange ended. */
public enum Outcome {
    /** The client received the worker's complete response. */
    COMPLETED,
    /** The client disconnected or reset its stream first. */
    CANCELLED,
    /** The client received an error made by the dispatcher, or an incomplete response. */
    FAILED
}
