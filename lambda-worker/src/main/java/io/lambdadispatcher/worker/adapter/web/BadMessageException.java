package io.lambdadispatcher.worker.adapter.web;

/**
 * A head that must not be passed on as it is. Without a stack trace: it is an answer, not an error
 * of ours.
 */
final class BadMessageException extends Exception {
    private static final long serialVersionUID = 1L;

    BadMessageException(String message) {
        super(message, null, false, false);
    }
}
