package io.lambdadispatcher.core.internal.exchange;

/**
 * What a worker stream calls for the request that it carries. It is a {@link ResponseSink} with
 * three more failures, which say whether the request may be sent again, and the handler's times.
 * Called on the client's event loop.
 */
public interface Attempt extends ResponseSink {
    /**
     * The worker has not run any user code for the request. Another worker can serve it, whatever
     * its method.
     */
    void onRefused(Failure failure);

    /**
     * As {@link #onRefused}, but only because requests of other dispatchers use the worker. So
     * nothing has failed.
     */
    void onBusy(Failure failure);

    /** The worker or the stream is lost. How far the request got is unknown. */
    void onLost(Failure failure);

    /**
     * The worker has reported the handler's times, before the end of the response.
     *
     * @param waitMicros time from the request's arrival until the call of the handler
     * @param handlerMicros time from the call of the handler until the end of the response
     */
    void onTiming(long waitMicros, long handlerMicros);
}
