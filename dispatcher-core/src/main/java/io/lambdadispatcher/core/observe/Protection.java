package io.lambdadispatcher.core.observe;

/** What the dispatcher has done to protect itself, its workers or other clients. */
public enum Protection {
    /** A request was ended because its body came too slowly. */
    BODY_TOO_SLOW,
    /** A response was cut off because its client took it too slowly. */
    RESPONSE_TOO_SLOW,
    /** A client connection was closed because it made too many resets, or caused too many stream errors. */
    TOO_MANY_RESETS,
    /** An interim response was dropped because the client's connection was full, or its response had too many of them. */
    INTERIM_DROPPED,
    /** A new client connection was closed because there are too many. */
    CONNECTION_LIMIT,
    /** A new client connection was closed because its address has too many. */
    ADDRESS_LIMIT,
    /** A request was refused because the memory for clients is almost used up. */
    MEMORY_REFUSED,
    /** The client connection that held the most memory was closed because the memory for clients is used up. */
    MEMORY_CUT,
    /** A request had to wait because its client holds its share of the function's worker streams. */
    SHARE_EXCEEDED,
    /** A queued request was refused before its timeout because the queue does not empty. */
    QUEUE_SHED,
    /** A worker stream was closed because the client of its last response takes that too slowly. */
    LAGGING_STREAM,
    /**
     * A connection or worker stream of a worker was refused because the worker has as many as it may have, or a worker connection was
     * closed because of too many lost streams or control messages.
     */
    WORKER_LIMIT,
    /** A request to the admin port was refused because of its Host, its Origin or a missing token. */
    ADMIN_REFUSED,
    /** A connection to the admin port was closed because there are too many, or too many bytes of answers unread. */
    ADMIN_CONNECTION_LIMIT
}
