package io.lambdadispatcher.wire.worker;

/**
 * The bytes of a frame.
 *
 * <pre>
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-------+-------+-----------------------------------------------+
 * | type  | flags |            payload length (24)                |
 * +-------+-------+-----------------------------------------------+
 * |                     payload (0..length bytes) ...
 * +---------------------------------------------------------------+
 * </pre>
 *
 * All numbers are unsigned and in network order. One flag exists, {@link #FLAG_END}; the other
 * three bits are zero.
 */
public final class FrameLayout {
    /** Bytes of the fixed header. */
    public static final int HEADER_BYTES = 4;

    public static final int TYPE_SHIFT = 28;
    public static final int FLAGS_SHIFT = 24;
    public static final int FLAGS_MASK = 0xF;
    public static final int LENGTH_MASK = 0xFF_FFFF;

    /** Largest payload a header can name, 16 MiB - 1. */
    public static final int MAX_PAYLOAD_BYTES = LENGTH_MASK;

    /**
     * On REQUEST_HEAD, RESPONSE_HEAD and DATA: the message ends with this frame. TRAILERS and RESET
     * end it without the flag.
     */
    public static final int FLAG_END = 0x1;

    /**
     * Length of the timeout in REQUEST_HEAD, before the HPACK block: milliseconds that the
     * dispatcher still waits for the complete response.
     */
    public static final int TIMEOUT_BYTES = 4;

    /** Length of the error code in RESET and CANCEL. */
    public static final int ERROR_CODE_BYTES = 4;

    /** Length of the two times in TIMING. */
    public static final int TIMING_BYTES = 8;

    private FrameLayout() {}

    /**
     * Returns the header as one 32-bit word.
     *
     * @throws IllegalArgumentException if {@code payloadBytes} does not fit into 24 bits
     */
    public static int header(FrameType type, boolean end, int payloadBytes) {
        if (payloadBytes < 0 || payloadBytes > MAX_PAYLOAD_BYTES) {
            throw new IllegalArgumentException(
                    "frame payload of " + payloadBytes + " bytes, expected 0 to " + MAX_PAYLOAD_BYTES);
        }
        return type.code() << TYPE_SHIFT | (end ? FLAG_END << FLAGS_SHIFT : 0) | payloadBytes;
    }

    public static int typeCode(int header) {
        return header >>> TYPE_SHIFT;
    }

    public static int flags(int header) {
        return header >>> FLAGS_SHIFT & FLAGS_MASK;
    }

    public static boolean isEnd(int header) {
        return (flags(header) & FLAG_END) != 0;
    }

    public static int payloadBytes(int header) {
        return header & LENGTH_MASK;
    }
}
