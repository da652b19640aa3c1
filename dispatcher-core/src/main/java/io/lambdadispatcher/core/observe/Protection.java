package io.lambdadispatcher.core.observe;

/**
 * What the dispatcher did to protect itself, its workers or other clients. See {@link
 * DispatcherObserver#onProtection}.
 */
public enum Protection {
    /** A request was ended because its body arrived too slowly. */
    BODY_TOO_SLOW,
    /**
     * A response was cut off or a client connection was closed, because the client took responses
     * too slowly.
     */
    RESPONSE_TOO_SLOW,
    /**
     * A client's HTTP/2 connection was closed because the client reset or caused the reset of too
     * many streams.
     */
    TOO_MANY_RESETS,
    /**
     * An interim response was dropped. The client's connection was full, or the response had too
     * many of them.
     */
    INTERIM_DROPPED,
    /**
     * A new client connection was closed because there are too many, or because there is no memory
     * for it.
     */
    CONNECTION_LIMIT,
    /** A new client connection was closed because there are too many from its address. */
    ADDRESS_LIMIT,
    /**
     * A part of a client's TLS handshake waited for the next turn of its event loop, because other
     * handshakes had taken their time in this one.
     */
    HANDSHAKE_DELAYED,
    /**
     * A connection was closed because it did not begin with a valid PROXY header in time. See
     * {@code ListenerOptions.withProxyProtocol}.
     */
    PROXY_HEADER,
    /**
     * A request was refused because the memory for clients or for queued requests is almost used
     * up.
     */
    MEMORY_REFUSED,
    /**
     * The client connection that held the most memory was closed because the memory for clients is
     * used up.
     */
    MEMORY_CUT,
    /**
     * A request was queued because its client holds its share of the function's worker streams, or
     * was ended because its client held up more than its share while others waited. A direct
     * request was refused because its client has too many whose bodies are incomplete, or
     * because all clients together do.
     */
    SHARE_EXCEEDED,
    /**
     * A queued request was refused before its timeout because the queue had not been empty for that
     * time.
     */
    QUEUE_SHED,
    /**
     * A worker exceeded a limit. One of these happened:
     * <ul>
     *   <li>A connection or a worker stream was refused because the worker already has the maximum.
     *   <li>The worker was told to open fewer worker streams than it announced.
     *   <li>A connection was closed because of too many lost streams or control messages.
     * </ul>
     */
    WORKER_LIMIT,
    /**
     * A request to the server's admin port was refused because of its Host, its Origin or a missing
     * token. An embedded dispatcher has no admin port.
     */
    ADMIN_REFUSED,
    /**
     * A connection to the server's admin port was closed because there are too many, or because too
     * many bytes of its responses were unread.
     */
    ADMIN_CONNECTION_LIMIT
}
