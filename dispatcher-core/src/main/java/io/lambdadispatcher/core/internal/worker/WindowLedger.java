package io.lambdadispatcher.core.internal.worker;

/**
 * Counts the bytes that occupy the windows of a worker stream. Request bytes can outlive their
 * exchange, because they can wait for the worker's window. Event loop only.
 */
final class WindowLedger {
    // Request bytes on their way to the worker. Those of the current exchange are behind those of
    // earlier ones.
    private int ownRequestBytes;
    private int staleRequestBytes;

    /** Response bytes of the current exchange that the client has not read. */
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

    /**
     * The response has ended, or nobody wants the rest.
     *
     * @return the number of unread bytes, which no longer count
     */
    int forgetResponse() {
        int unread = responseBytes;
        responseBytes = 0;
        return unread;
    }
}
