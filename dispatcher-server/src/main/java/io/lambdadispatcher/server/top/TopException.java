package io.lambdadispatcher.server.top;

import org.jspecify.annotations.Nullable;

/**
 * Thrown if the admin port of a dispatcher does not answer as expected. The message says why, in
 * one line.
 */
public final class TopException extends Exception {
    private static final long serialVersionUID = 1;

    TopException(String message, @Nullable Throwable cause) {
        super(Line.printable(message), cause);
    }

    TopException(String message) {
        this(message, null);
    }
}
