package io.lambdadispatcher.wire.worker;

/**
 * All limits of the protocol. A receiver can be configured to be stricter if a constructor takes a
 * limit.
 */
public final class WireLimits {
    /** The newest version of the protocol, which this software prefers. */
    public static final int PROTOCOL_VERSION = 2;

    /** The oldest version of the protocol that this software speaks. */
    public static final int OLDEST_VERSION = 1;

    /** The first version with PEERS and {@link ErrorCode#BUSY}. */
    public static final int PEERS_VERSION = 2;

    /** The version of the JSON object that a launched worker receives. */
    public static final int PAYLOAD_VERSION = 1;

    /**
     * Maximum encoded size of headers or trailers, and of what the decoder may buffer per stream.
     */
    public static final int MAX_HEAD_BLOCK_BYTES = 256 * 1024;

    /**
     * Size of the HPACK dynamic table of each direction of a worker stream, which is RFC 7541's
     * default. It is not negotiated.
     */
    public static final int HPACK_TABLE_BYTES = 4096;

    /** Maximum size of the UTF-8 text of a RESET. */
    public static final int MAX_RESET_TEXT_BYTES = 1024;

    /** Maximum payload of a control message, including its MAC. */
    public static final int MAX_CONTROL_BYTES = 4096;

    /** Size of the MAC that ends each control message: the first half of HMAC-SHA-256. */
    public static final int MAC_BYTES = 16;

    /** Maximum length of a launch token in characters. */
    public static final int MAX_TOKEN_CHARS = 1024;

    /** Maximum length of a worker id or a function name in characters. */
    public static final int MAX_NAME_CHARS = 256;

    /** Maximum number of worker streams of one worker connection. */
    public static final int MAX_STREAMS_PER_CONNECTION = 1000;

    /** Maximum number of connections of one worker. */
    public static final int MAX_CONNECTIONS_PER_WORKER = 64;

    /** Maximum number of dispatchers that share a worker. */
    public static final int MAX_PEERS = 64;

    private WireLimits() {}
}
