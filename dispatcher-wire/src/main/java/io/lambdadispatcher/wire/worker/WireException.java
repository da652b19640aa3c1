package io.lambdadispatcher.wire.worker;

import org.jspecify.annotations.Nullable;

/**
 * The peer sent bytes that this protocol does not allow. The stream they came on cannot be read any
 * further (frame boundaries or HPACK state are lost); the worker connection and its other streams
 * are unharmed.
 */
public final class WireException extends Exception {
    private static final long serialVersionUID = 1L;

    /** What kind of rule was broken. */
    public enum Reason {
        UNKNOWN_FRAME,
        UNKNOWN_FLAG,
        FRAME_NOT_ALLOWED_HERE,
        TOO_LARGE,
        TOO_SHORT,
        BAD_HEAD,
        BAD_CONTROL_MESSAGE,
        BAD_TOKEN,
        BAD_MAC,
        UNSUPPORTED_VERSION
    }

    private final Reason reason;
    private final long offset;

    /**
     * @param offset bytes of the stream before the frame (or token character) at fault
     * @param detail the value seen and the value or limit expected
     */
    public WireException(Reason reason, long offset, String detail) {
        this(reason, offset, detail, null);
    }

    public WireException(Reason reason, long offset, String detail, @Nullable Throwable cause) {
        super(reason + " at offset " + offset + ": " + detail, cause);
        this.reason = reason;
        this.offset = offset;
    }

    public Reason reason() {
        return reason;
    }

    public long offset() {
        return offset;
    }
}
