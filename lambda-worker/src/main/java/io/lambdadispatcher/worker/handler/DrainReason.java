package io.lambdadispatcher.worker.handler;

/** Why a worker drains. */
public enum DrainReason {
    /** The dispatcher shuts down. */
    SHUTDOWN,
    /** The dispatcher needs fewer workers. */
    SCALE_IN,
    /** The worker's deadline is near, for example the timeout of its Lambda invocation. */
    DEADLINE,
    /** The worker has had no request for its idle timeout. */
    IDLE,
    /**
     * The process was asked to end, or the dispatcher gave a reason that this version does not
     * know.
     */
    REQUESTED
}
