package io.lambdadispatcher.core.internal.exchange;

/**
 * What a worker stream calls about the request it carries: a {@link ResponseSink} with two more
 * ways to fail, which say whether the request may be sent again. Called on the client's event loop.
 */
public interface Attempt extends ResponseSink {
    /** No user code has seen the request: it may go to another worker whatever its method. */
    void onRefused(Failure failure);

    /** The worker or the stream has gone; how far the request got is unknown. */
    void onLost(Failure failure);
}
