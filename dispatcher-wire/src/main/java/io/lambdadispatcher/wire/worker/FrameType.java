package io.lambdadispatcher.wire.worker;

import org.jspecify.annotations.Nullable;

/**
 * The frames of a worker stream and of a control stream. The code is the upper half of a frame's
 * first byte.
 */
public enum FrameType {
    /**
     * Dispatcher to worker. Timeout in milliseconds (32 bits, 0 = none), then an HPACK block.
     * Starts an exchange.
     */
    REQUEST_HEAD(1),
    /** Worker to dispatcher. HPACK block of the final response head. */
    RESPONSE_HEAD(2),
    /**
     * Worker to dispatcher. HPACK block of a 1xx response head; any number of them before {@link
     * #RESPONSE_HEAD}.
     */
    INTERIM(3),
    /** Both ways. Body bytes; may be relayed before the last one has arrived. */
    DATA(4),
    /** Both ways. HPACK block of the trailer fields; ends the message. */
    TRAILERS(5),
    /**
     * Both ways. Error code (32 bits), then UTF-8 text. The sender's message ends here, incomplete.
     */
    RESET(6),
    /**
     * Dispatcher to worker. Error code (32 bits). Nobody wants the response: the worker ends it
     * with {@link #RESET} soon.
     */
    CANCEL(7),

    /** Worker to dispatcher, first on a control stream. See {@link ControlMessage.Hello}. */
    HELLO(8),
    /** Dispatcher to worker, the answer to {@link #HELLO}. See {@link ControlMessage.Welcome}. */
    WELCOME(9),
    /** Worker to dispatcher. See {@link ControlMessage.Readiness}. */
    READINESS(10),
    /** Worker to dispatcher. See {@link ControlMessage.Load}. */
    LOAD(11),
    /** Both ways. See {@link ControlMessage.Drain}. */
    DRAIN(12),
    /** Both ways. See {@link ControlMessage.Goodbye}. */
    GOODBYE(13);

    private static final @Nullable FrameType[] BY_CODE = new FrameType[16];

    static {
        for (FrameType type : values()) {
            BY_CODE[type.code] = type;
        }
    }

    private final int code;

    FrameType(int code) {
        this.code = code;
    }

    /** 1 to 13. */
    public int code() {
        return code;
    }

    /**
     * True for the messages of a control stream, which never appear on a worker stream, nor the
     * others on a control stream.
     */
    public boolean isControl() {
        return code >= 8;
    }

    /** {@code null} where no frame has that code. */
    public static @Nullable FrameType ofCode(int code) {
        return code >= 0 && code < BY_CODE.length ? BY_CODE[code] : null;
    }
}
