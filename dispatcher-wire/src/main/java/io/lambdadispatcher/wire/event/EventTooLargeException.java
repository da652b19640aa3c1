package io.lambdadispatcher.wire.event;

/**
 * An event has outgrown what a function can take. Without a stack trace: it is an answer, not a
 * fault.
 */
public final class EventTooLargeException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    EventTooLargeException(int limitBytes) {
        super("an event of more than " + limitBytes + " bytes", null, false, false);
    }
}
