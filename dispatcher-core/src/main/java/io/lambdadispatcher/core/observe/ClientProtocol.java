package io.lambdadispatcher.core.observe;

/** How a request has reached the dispatcher. */
public enum ClientProtocol {
    /** HTTP/1.0 or HTTP/1.1. */
    HTTP_1,
    HTTP_2,
    /** The embedding program has called {@code Dispatcher.dispatch}. */
    EMBEDDED
}
