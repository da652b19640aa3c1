package io.lambdadispatcher.core.observe;

/** How a request reached the dispatcher. */
public enum ClientProtocol {
    /** HTTP/1.0 or HTTP/1.1. */
    HTTP_1,
    /** HTTP/2, with TLS or without. */
    HTTP_2,
    /** {@code Dispatcher.dispatch}, called by the embedding program. */
    EMBEDDED
}
