package io.lambdadispatcher.core.internal.capacity;

import java.util.concurrent.TimeUnit;

/**
 * How many downstream connections one worker may open: what it was told, and what it has confirmed.
 * Until it confirms a smaller share, it may still use the larger one.
 */
final class ConnectionShare {
    /** The worker has been told nothing by this dispatcher, and has confirmed nothing. */
    private static final int UNKNOWN = -1;
    /** A worker repeats its share every 5 s. If it does not confirm, the message may be lost. */
    private static final long REPEAT_NANOS = TimeUnit.SECONDS.toNanos(10);
    /** The time after which a worker that has not confirmed a smaller share is replaced. */
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);

    private int told;
    /** The largest share that the worker may still use. */
    private int held;

    private long toldNanos;
    private long sentNanos;
    /** Whether the worker reports its share, so that it can be told another one. */
    private boolean reports;

    private ConnectionShare(int connections) {
        told = connections;
        held = connections;
    }

    /** Creates the share of a worker that is launched with it; 0 = without a limit. */
    static ConnectionShare granted(int connections) {
        return new ConnectionShare(connections);
    }

    static ConnectionShare unknown() {
        return new ConnectionShare(UNKNOWN);
    }

    /**
     * Returns how many connections the worker may have now; 0 or less = it has no limit, or none
     * that is known.
     */
    int held() {
        return held;
    }

    /** Returns whether the worker was launched without a limit. */
    boolean isUnlimited() {
        return held == 0;
    }

    boolean reports() {
        return reports;
    }

    void onReport(int connections) {
        reports = true;
        told = told == UNKNOWN ? connections : told;
        // A report of another share was sent before the worker was told this one.
        held = told == connections ? connections : Math.max(held, connections);
    }

    /** Returns whether the worker must be told this share now. The caller then tells it. */
    boolean mustTell(long nowNanos, int connections) {
        if (told != connections) {
            told = connections;
            held = Math.max(held, connections);
            toldNanos = nowNanos;
            sentNanos = nowNanos;
            return true;
        }
        boolean repeats = held != told && nowNanos - sentNanos >= REPEAT_NANOS && nowNanos - toldNanos < PATIENCE_NANOS;
        sentNanos = repeats ? nowNanos : sentNanos;
        return repeats;
    }

    /** Returns whether the worker has more than it should have, and does not give it back. */
    boolean isStuckAbove(long nowNanos, int connections) {
        boolean maySoonConfirm = reports && told <= connections && nowNanos - toldNanos < PATIENCE_NANOS;
        return held > connections && !maySoonConfirm;
    }
}
