package io.lambdadispatcher.server;

/** The server cannot start; the message says why in one line. */
final class StartException extends Exception {
    private static final long serialVersionUID = 1;

    StartException(String message, Throwable cause) {
        super(message, cause);
    }

    StartException(String message) {
        super(message);
    }
}
