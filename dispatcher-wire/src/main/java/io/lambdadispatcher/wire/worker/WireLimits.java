package io.lambdadispatcher.wire.worker;

/**
 * Every limit of the protocol in one place. A receiver may be stricter by configuration where a
 * constructor takes a limit.
 */
public final class WireLimits {
    public static final int PROTOCOL_VERSION = 1;

    /** Encoded size of a head, interim or trailer block; what the decoder may buffer per stream. */
    public static final int MAX_HEAD_BLOCK_BYTES = 256 * 1024;

    /**
     * HPACK dynamic table of each direction of a worker stream, RFC 7541's default; fixed, there is
     * nothing to negotiate it.
     */
    public static final int HPACK_TABLE_BYTES = 4096;

    /** UTF-8 text of a RESET. */
    public static final int MAX_RESET_TEXT_BYTES = 1024;

    /** Payload of a control message, its MAC included. */
    public static final int MAX_CONTROL_BYTES = 4096;

    /** Bytes of the MAC that ends every control message: HMAC-SHA-256 cut to its first half. */
    public static final int MAC_BYTES = 16;

    /** Characters of a launch token. */
    public static final int MAX_TOKEN_CHARS = 1024;

    /** Characters of a worker id or a function name. */
    public static final int MAX_NAME_CHARS = 256;

    /** Worker streams of one worker connection. */
    public static final int MAX_STREAMS_PER_CONNECTION = 1000;

    /** Worker connections of one worker. */
    public static final int MAX_CONNECTIONS_PER_WORKER = 64;

    private WireLimits() {}
}
