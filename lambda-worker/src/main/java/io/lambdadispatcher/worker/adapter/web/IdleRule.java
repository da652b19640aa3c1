package io.lambdadispatcher.worker.adapter.web;

import java.util.concurrent.TimeUnit;

/**
 * For how long a connection may have been idle to be used again. The application closes idle
 * connections too, and a request that meets such a close on its way is lost. One that may be
 * repeated is repeated, so it is let on to any connection that is not older than the configured
 * limit. Others get connections that have hardly been idle, or for less than half of what is known
 * to be safe: what the application announces, or has been seen to put up with; and for less than
 * half of the time after which it has been seen to close one, until it has kept one for longer:
 * what it closed before was not for its time, e.g. when the application was started again. For them
 * another connection costs a tenth of a millisecond, and a lost one the request. Event loop only.
 */
final class IdleRule {
    private static final long HARDLY_IDLE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /**
     * An application that closes sooner does so for another reason, e.g. after a number of
     * requests.
     */
    private static final long LEAST_LEARNED_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private final long limitNanos;
    private long servedNanos;
    private long closedNanos = Long.MAX_VALUE;

    IdleRule(long limitNanos) {
        this.limitNanos = limitNanos;
    }

    /** The application has closed a connection that had been idle for so long. */
    void onClosedIdle(long idleNanos) {
        closedNanos = Math.min(closedNanos, Math.max(2 * LEAST_LEARNED_NANOS, idleNanos));
    }

    /** The application has answered on a connection that had been idle for so long. */
    void onServed(long idleNanos) {
        servedNanos = Math.max(servedNanos, Math.min(idleNanos, limitNanos));
        onKept(idleNanos);
    }

    /**
     * The application has not closed a connection that has been idle for so long; what is beyond
     * the limit may be the time of a freeze.
     */
    void onKept(long idleNanos) {
        closedNanos = Math.max(closedNanos, Math.min(idleNanos, limitNanos));
    }

    boolean isYoung(long idleNanos) {
        return idleNanos < limitNanos;
    }

    /**
     * @param announcedNanos for how long the application says that it keeps the connection; zero if
     *     it does not say
     */
    boolean isSafe(long idleNanos, long announcedNanos) {
        long knownNanos = Math.max(servedNanos, announcedNanos) / 2;
        return idleNanos < Math.max(HARDLY_IDLE_NANOS, knownNanos) && idleNanos < closedNanos / 2;
    }
}
