package io.lambdadispatcher.wire.event;

/**
 * An event is larger than a function accepts. It has no stack trace, because it is an expected
 * result.
 */
public final class EventTooLargeException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    EventTooLargeException(int limitBytes) {
        super("an event of more than " + limitBytes + " bytes", null, false, false);
    }
}
