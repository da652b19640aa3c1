package io.lambdadispatcher.worker.internal.connect;

import io.lambdadispatcher.worker.internal.transport.Http2Client;
import java.util.HashMap;
import java.util.Map;

/**
 * Tells when the peer of a connection has read everything that was written before, by a PING that
 * follows it. Event loop only.
 */
final class RoundTrips {
    private final Http2Client http2;
    private final Map<Long, Runnable> actions = new HashMap<>();

    /** What the latest PING carries. The probe of the connection's liveness uses 0. */
    private long latest;

    RoundTrips(Http2Client http2) {
        this.http2 = http2;
    }

    /**
     * Starts a round trip.
     *
     * @param action runs when the PING has come back; never if the connection ends before
     */
    void start(Runnable action) {
        actions.put(++latest, action);
        // Flushed first, because a PING would overtake what is queued.
        http2.flush(http2.ctx());
        http2.ping(latest);
    }

    /** @param data what the PING carried that came back */
    void onPingAck(long data) {
        Runnable action = actions.remove(data);
        if (action != null) {
            action.run();
        }
    }
}
