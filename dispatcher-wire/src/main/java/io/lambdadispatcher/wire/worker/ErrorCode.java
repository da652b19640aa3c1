package io.lambdadispatcher.wire.worker;

/** Why a message was cut off: the 32-bit code of RESET and CANCEL. */
public enum ErrorCode {
    /** An unknown error. Receivers treat unknown codes as this one. */
    INTERNAL(1),
    /** No user code has seen the request. It can be sent to another worker, whatever its method. */
    REFUSED(2),
    /** The client has disconnected, or has reset its stream. */
    CANCELLED(3),
    /** The request's deadline has passed. */
    TIMEOUT(4),
    /** The handler threw an exception, or its process failed. */
    HANDLER_FAILED(5),
    /**
     * The message breaks the rules of HTTP, for example because its body does not match {@code
     * content-length}.
     */
    BAD_MESSAGE(6),
    /** The worker exits before the response has ended. */
    GOING_AWAY(7),
    /**
     * The receiver needs no more of the request. The response is not affected (compare RFC 9113
     * section 8.1, NO_ERROR).
     */
    NOT_NEEDED(8),
    /**
     * Like {@link #REFUSED}, because requests of other dispatchers use the worker. Only from
     * version 2 on.
     */
    BUSY(9);

    private static final ErrorCode[] VALUES = values();

    private final int code;

    ErrorCode(int code) {
        this.code = code;
    }

    public int code() {
        return code;
    }

    /** Returns the code's constant, or {@link #INTERNAL} if it is unknown. */
    public static ErrorCode ofCode(int code) {
        return code >= 1 && code <= VALUES.length ? VALUES[code - 1] : INTERNAL;
    }
}
