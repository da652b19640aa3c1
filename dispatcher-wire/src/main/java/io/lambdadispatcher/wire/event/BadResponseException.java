package io.lambdadispatcher.wire.event;

/**
 * The result of a function is not an HTTP response. The message can be shown to clients, because it
 * contains names and no values.
 */
public final class BadResponseException extends Exception {
    private static final long serialVersionUID = 1L;

    BadResponseException(String message) {
        super(message, null, false, false);
    }
}
