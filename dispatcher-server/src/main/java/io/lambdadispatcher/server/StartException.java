package io.lambdadispatcher.server;

import org.jspecify.annotations.Nullable;

/** Thrown if the server cannot start. The message gives the reason in one line. */
final class StartException extends Exception {
    private static final long serialVersionUID = 1;

    StartException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    StartException(String message) {
        super(message);
    }
}
