package io.lambdadispatcher.core.internal.ingress.edge;

import java.util.concurrent.TimeUnit;

/**
 * Measures how fast a client sends or reads, by one check per second. Time counts only between two
 * checks that both find the dispatcher waiting for the client. Slowness of the dispatcher, the
 * worker or the handler does not count. The client has a credit of time, which decreases while it
 * is waited for and increases with each byte. The credit is 10 s at the start and 30 s at most, or
 * the allowed silence if that is longer. Without this maximum, a client that was fast could be slow
 * for hours. Event loop only.
 */
public final class Pace {
    private static final long FIRST_CREDIT_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long MAX_CREDIT_NANOS = TimeUnit.SECONDS.toNanos(30);

    /** A pause of this process is not the client's fault. */
    private static final long MAX_COUNTED_NANOS = LoopWatch.MAX_PAUSE_NANOS;

    private boolean waitedForAtLook;
    private long lookNanos;
    private long moved;
    private long stillNanos;
    private final long maxCreditNanos;
    private long creditNanos;

    public Pace() {
        this(0);
    }

    /** @param silenceNanos minimum time for the client before its first byte, whatever the rate */
    public Pace(long silenceNanos) {
        creditNanos = Math.max(FIRST_CREDIT_NANOS, silenceNanos);
        maxCreditNanos = Math.max(MAX_CREDIT_NANOS, silenceNanos);
    }

    /**
     * Checks the client.
     *
     * @param waitedFor whether the next step is the client's
     * @param movedBytes bytes that the client has sent or read so far
     * @param timeoutNanos maximum time without a byte
     * @param minDataRate bytes per second, 0 for any rate
     * @return whether the client is too slow
     */
    public boolean isTooSlow(long nowNanos, boolean waitedFor, long movedBytes, long timeoutNanos, int minDataRate) {
        long passedNanos = waitedFor && waitedForAtLook ? Math.min(nowNanos - lookNanos, MAX_COUNTED_NANOS) : 0;
        stillNanos = waitedFor && movedBytes <= moved ? stillNanos + passedNanos : 0;
        creditNanos -= passedNanos;
        if (movedBytes > moved && minDataRate > 0) {
            long gainedNanos = TimeUnit.SECONDS.toNanos(movedBytes - moved) / minDataRate;
            creditNanos = Math.min(creditNanos + gainedNanos, maxCreditNanos);
        }
        waitedForAtLook = waitedFor;
        lookNanos = nowNanos;
        moved = Math.max(moved, movedBytes);
        return waitedFor && (stillNanos > timeoutNanos || minDataRate > 0 && creditNanos < 0);
    }
}
