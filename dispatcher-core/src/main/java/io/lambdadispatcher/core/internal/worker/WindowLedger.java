package io.lambdadispatcher.core.internal.worker;

/**
 * Counts the bytes that occupy the windows of a worker stream. They can outlive their exchange:
 * request bytes can wait for the worker's window, and response bytes for the client. Event loop
 * only.
 */
final class WindowLedger {
    /**
     * Maximum number of unread response bytes with which the next exchange may start.
     * HTTP/2's flow controller tells the worker of new room when half of the window has been read.
     * With more unread bytes, the next exchange could use up the rest of the window and wait for
     * the previous client.
     */
    private static final int MAX_LAG_BYTES = WorkerPort.STREAM_WINDOW_BYTES / 2;

    // Request bytes on their way to the worker. Those of the current exchange are behind those of
    // earlier ones.
    private int ownRequestBytes;
    private int staleRequestBytes;

    /** Unread response bytes of all exchanges. */
    private int responseBytes;

    void onRequestQueued(int bytes) {
        ownRequestBytes += bytes;
    }

    void onRequestDropped(int bytes) {
        ownRequestBytes -= bytes;
    }

    /**
     * The worker's window has taken the oldest {@code bytes}.
     *
     * @return how many of them belong to the current exchange
     */
    int onRequestTaken(int bytes) {
        int stale = Math.min(bytes, staleRequestBytes);
        staleRequestBytes -= stale;
        ownRequestBytes -= bytes - stale;
        return bytes - stale;
    }

    void onExchangeEnd() {
        staleRequestBytes += ownRequestBytes;
        ownRequestBytes = 0;
    }

    int requestBytes() {
        return ownRequestBytes + staleRequestBytes;
    }

    boolean hasStaleRequestBytes() {
        return staleRequestBytes > 0;
    }

    void onResponse(int bytes) {
        responseBytes += bytes;
    }

    void onResponseTaken(int bytes) {
        responseBytes -= bytes;
    }

    /** Returns whether the next response could have too little room. */
    boolean isLagging() {
        return responseBytes > MAX_LAG_BYTES;
    }
}
