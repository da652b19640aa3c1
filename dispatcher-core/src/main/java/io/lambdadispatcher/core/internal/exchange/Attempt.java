package io.lambdadispatcher.core.internal.exchange;

/**
 * What a worker stream calls for the request that it carries. It is a {@link ResponseSink} with two
 * more failures, which say whether the request may be sent again. Called on the client's event
 * loop.
 */
public interface Attempt extends ResponseSink {
    /**
     * The worker has not run any user code for the request. Another worker can serve it, whatever
     * its method.
     */
    void onRefused(Failure failure);

    /** The worker or the stream is lost. How far the request got is unknown. */
    void onLost(Failure failure);
}
