package io.lambdadispatcher.worker.internal.exchange;

/** A request that measures how long it waits for the thread of its handler. */
public interface TimedRequest {
    /** Called when code of the handler starts to run on its own thread. */
    void onHandlerCalled();
}
