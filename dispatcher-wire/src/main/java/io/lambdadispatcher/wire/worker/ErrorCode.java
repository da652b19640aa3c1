package io.lambdadispatcher.wire.worker;

/** Why a message was cut short: the 32-bit code of RESET and CANCEL. */
public enum ErrorCode {
    /** An unknown code; receivers treat codes they do not know as this one. */
    INTERNAL(1),
    /**
     * Neither handler nor any other user code has seen the request: it may be sent elsewhere
     * whatever its method.
     */
    REFUSED(2),
    /** The client has gone, or has reset its stream. */
    CANCELLED(3),
    /** The request's deadline has passed. */
    TIMEOUT(4),
    /** The handler threw or its process failed. */
    HANDLER_FAILED(5),
    /** The message breaks HTTP's rules, e.g. a body that does not match {@code content-length}. */
    BAD_MESSAGE(6),
    /** The worker is going away before the response could end. */
    GOING_AWAY(7),
    /**
     * The receiver has all of the request that it wants; the response is unharmed (cf. RFC 9113
     * section 8.1, NO_ERROR).
     */
    NOT_NEEDED(8);

    private static final ErrorCode[] VALUES = values();

    private final int code;

    ErrorCode(int code) {
        this.code = code;
    }

    public int code() {
        return code;
    }

    /** {@link #INTERNAL} for codes not known here. */
    public static ErrorCode ofCode(int code) {
        return code >= 1 && code <= VALUES.length ? VALUES[code - 1] : INTERNAL;
    }
}
