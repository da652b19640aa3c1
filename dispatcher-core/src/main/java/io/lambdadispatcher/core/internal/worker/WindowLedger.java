package io.lambdadispatcher.core.internal.worker;

/**
 * What is still charged to the windows of a worker stream. Bytes of an exchange outlive it: those
 * of its request may wait for the worker's window, those of its response for its client. Event loop
 * only.
 */
final class WindowLedger {
    /**
     * What clients may have yet to take when the next exchange begins. With more, the rest of the
     * window could be used up before the half of it has been taken upon which HTTP/2's flow
     * controller tells the worker of new room: the next exchange would wait for the client of this
     * one.
     */
    private static final int MAX_LAG_BYTES = WorkerPort.STREAM_WINDOW_BYTES / 2;

    // Request bytes on their way to the worker: those of the current exchange come after those of
    // earlier ones.
    private int ownRequestBytes;
    private int staleRequestBytes;

    /** Response bytes, of all exchanges so far, that are with their clients' side. */
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
     * @return how many of them are the current exchange's
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

    /** The next response could find too little room. */
    boolean isLagging() {
        return responseBytes > MAX_LAG_BYTES;
    }
}
