package io.lambdadispatcher.worker.adapter.web;

/**
 * Thrown if a request or response must not be passed on. It has no stack trace, because it reports
 * a fault of the sender, not of the worker.
 */
final class BadMessageException extends Exception {
    private static final long serialVersionUID = 1L;

    BadMessageException(String message) {
        super(message, null, false, false);
    }
}
