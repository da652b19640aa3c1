package io.lambdadispatcher.wire.worker;

import io.lambdadispatcher.wire.http.PrintableText;
import org.jspecify.annotations.Nullable;

/**
 * The peer has sent bytes that the protocol does not allow. Their stream cannot be read any
 * further, because frame boundaries or HPACK state are lost. On a worker stream, the worker
 * connection and its other streams are not affected. On the control stream, the connection ends.
 */
public final class WireException extends Exception {
    private static final long serialVersionUID = 1L;

    /** The kind of rule that was broken. */
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
     * @param offset bytes of the stream before the wrong frame (or characters before the error in a
     *     token)
     * @param detail the value and the expected value or limit; it can have text of the peer, which
     *     is made printable and cut
     */
    public WireException(Reason reason, long offset, String detail) {
        this(reason, offset, detail, null);
    }

    public WireException(Reason reason, long offset, String detail, @Nullable Throwable cause) {
        super(reason + " at offset " + offset + ": " + PrintableText.startOf(detail), cause);
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
