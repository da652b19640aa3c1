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
     * Worker to dispatcher. HPACK block of the headers of a 1xx response. Any number of them can
     * come before {@link #RESPONSE_HEAD}.
     */
    INTERIM(3),
    /** Both directions. Body bytes, which can be passed on before the frame is complete. */
    DATA(4),
    /** Both directions. HPACK block of the trailers. Ends the message. */
    TRAILERS(5),
    /**
     * Both directions. Error code (32 bits), then UTF-8 text. The sender's message ends here and is
     * incomplete.
     */
    RESET(6),
    /**
     * Dispatcher to worker. Error code (32 bits). Nobody wants the response. The worker soon ends
     * it with {@link #RESET}.
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
    /** Both directions. See {@link ControlMessage.Drain}. */
    DRAIN(12),
    /** Both directions. See {@link ControlMessage.Goodbye}. */
    GOODBYE(13),

    /**
     * Worker to dispatcher. Microseconds from the request's arrival until the call of the handler,
     * and from then until now (32 bits each). Comes at most once, before the response's last frame.
     */
    TIMING(14),

    /** Dispatcher to worker, from version 2 on. See {@link ControlMessage.Peers}. */
    PEERS(15);

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

    /** Returns the code, 1 to 15. */
    public int code() {
        return code;
    }

    /**
     * Returns whether it is a control message. Control messages appear only on control streams, and
     * all others only on worker streams.
     */
    public boolean isControl() {
        return code >= 8 && this != TIMING;
    }

    /** Returns the type with that code, or {@code null} if there is none. */
    public static @Nullable FrameType ofCode(int code) {
        return code >= 0 && code < BY_CODE.length ? BY_CODE[code] : null;
    }
}
