package io.lambdadispatcher.worker.internal.connect;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts what one keeper's connections have served. Only its event loop writes. Any thread reads.
 */
public final class Tally {
    private final AtomicLong started = new AtomicLong();
    private final AtomicLong ended = new AtomicLong();
    private final AtomicLong failed = new AtomicLong();
    private final AtomicLong requestBytes = new AtomicLong();
    private final AtomicLong responseBytes = new AtomicLong();
    private final AtomicLong connections = new AtomicLong();

    void onStarted() {
        add(started, 1);
    }

    void onEnded(boolean failure, long inBytes, long outBytes) {
        add(ended, 1);
        if (failure) {
            add(failed, 1);
        }
        add(requestBytes, inBytes);
        add(responseBytes, outBytes);
    }

    void onConnection() {
        add(connections, 1);
    }

    /** Adds what another one has counted. */
    void add(Tally other) {
        add(started, other.started());
        add(ended, other.ended());
        add(failed, other.failed());
        add(requestBytes, other.requestBytes());
        add(responseBytes, other.responseBytes());
        add(connections, other.connections());
    }

    // There is one writer, so no locked instruction is needed.
    private static void add(AtomicLong to, long amount) {
        to.lazySet(to.getPlain() + amount);
    }

    public long started() {
        return started.get();
    }

    public long ended() {
        return ended.get();
    }

    public long failed() {
        return failed.get();
    }

    public long requestBytes() {
        return requestBytes.get();
    }

    public long responseBytes() {
        return responseBytes.get();
    }

    public long connections() {
        return connections.get();
    }
}
