package io.lambdadispatcher.core.internal.ingress.edge;

import java.util.concurrent.TimeUnit;

/**
 * Measures how fast a client sends or takes something, by a look once a second. Only the time
 * between two looks that both find the client waited for counts, so the dispatcher, the worker and
 * the handler may be as slow as they like. The client has a credit of time, which it spends while
 * it is waited for and regains with each byte. The credit is 10 s at first and 30 s at most, or the
 * time for which the client may be silent if that is longer. Without a maximum, a client that has
 * been fast could be slow for hours. Event loop only.
 */
public final class Pace {
    private static final long FIRST_CREDIT_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long MAX_CREDIT_NANOS = TimeUnit.SECONDS.toNanos(30);

    /**
     * The rest of a longer time between two looks is a pause of this process, which is not the
     * client's fault.
     */
    private static final long MAX_COUNTED_NANOS = 2 * LoopWatch.PERIOD_NANOS;

    private boolean waitedForAtLook;
    private long lookNanos;
    private long moved;
    private long stillNanos;
    private final long maxCreditNanos;
    private long creditNanos;

    public Pace() {
        this(0);
    }

    /**
     * @param silenceNanos time that the client has at least before its first byte, whatever the
     *     rate
     */
    public Pace(long silenceNanos) {
        creditNanos = Math.max(FIRST_CREDIT_NANOS, silenceNanos);
        maxCreditNanos = Math.max(MAX_CREDIT_NANOS, silenceNanos);
    }

    /**
     * Looks.
     *
     * @param waitedFor whether nothing moves unless the client does something
     * @param movedBytes sent or taken by the client so far, from the first byte on
     * @param timeoutNanos maximum time without a byte
     * @param minRate bytes per second, 0 for any rate
     * @return whether the client is too slow
     */
    public boolean isTooSlow(long nowNanos, boolean waitedFor, long movedBytes, long timeoutNanos, int minRate) {
        long passedNanos = waitedFor && waitedForAtLook ? Math.min(nowNanos - lookNanos, MAX_COUNTED_NANOS) : 0;
        stillNanos = waitedFor && movedBytes <= moved ? stillNanos + passedNanos : 0;
        creditNanos -= passedNanos;
        if (movedBytes > moved && minRate > 0) {
            long gainedNanos = TimeUnit.SECONDS.toNanos(movedBytes - moved) / minRate;
            creditNanos = Math.min(creditNanos + gainedNanos, maxCreditNanos);
        }
        waitedForAtLook = waitedFor;
        lookNanos = nowNanos;
        moved = Math.max(moved, movedBytes);
        return waitedFor && (stillNanos > timeoutNanos || minRate > 0 && creditNanos < 0);
    }
}
