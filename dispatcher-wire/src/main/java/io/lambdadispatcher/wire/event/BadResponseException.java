package io.lambdadispatcher.wire.event;

/**
 * What a function returned is no HTTP response. The message may be shown to clients: it quotes
 * names, no values.
 */
public final class BadResponseException extends Exception {
    private static final long serialVersionUID = 1L;

    BadResponseException(String message) {
        super(message, null, false, false);
    }
}
