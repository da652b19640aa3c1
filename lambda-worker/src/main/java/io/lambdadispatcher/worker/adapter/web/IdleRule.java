package io.lambdadispatcher.worker.adapter.web;

import java.util.concurrent.TimeUnit;

/**
 * Decides how long a connection may have been idle and still be used. The application closes idle
 * connections too, and a request that crosses such a close is lost.
 *
 * <p>A request that may be repeated can use any connection that has been idle for less than the
 * configured limit. For other requests, opening a connection costs 0.1 ms, but a close would lose
 * the request. They use a connection only if its idle time is below both of these:
 * <ul>
 *   <li>10 ms, or half of the longest time known to be safe, if that is longer. A time is safe if
 *       the application announces it, or has responded after it.
 *   <li>Half of the time after which the application has closed a connection. If the application
 *       later keeps a connection for longer, that time is used instead: the earlier close had
 *       another reason, for example a restart.
 * </ul>
 *
 * <p>Confined to an event loop.
 */
final class IdleRule {
    private static final long HARDLY_IDLE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /**
     * A connection that was idle for less than this time stays safe whatever closes were seen. An
     * application that closes sooner does so for another reason, for example after a number of
     * requests.
     */
    private static final long LEAST_LEARNED_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private final long limitNanos;
    private long servedNanos;
    private long closedNanos = Long.MAX_VALUE;

    IdleRule(long limitNanos) {
        this.limitNanos = limitNanos;
    }

    /** Notes that the application has closed a connection that had been idle for this time. */
    void onClosedIdle(long idleNanos) {
        closedNanos = Math.min(closedNanos, Math.max(2 * LEAST_LEARNED_NANOS, idleNanos));
    }

    /**
     * Notes that the application has responded on a connection that had been idle for this time.
     */
    void onServed(long idleNanos) {
        servedNanos = Math.max(servedNanos, Math.min(idleNanos, limitNanos));
        onKept(idleNanos);
    }

    /**
     * Notes that the application has not closed a connection that has been idle for this time. Time
     * beyond the limit does not count, because it may be the time of a freeze.
     */
    void onKept(long idleNanos) {
        closedNanos = Math.max(closedNanos, Math.min(idleNanos, limitNanos));
    }

    boolean isYoung(long idleNanos) {
        return idleNanos < limitNanos;
    }

    /**
     * @param announcedNanos a time for which the application has announced to keep the connection,
     *     or zero if it has announced none
     */
    boolean isSafe(long idleNanos, long announcedNanos) {
        long knownNanos = Math.max(servedNanos, announcedNanos) / 2;
        return idleNanos < Math.max(HARDLY_IDLE_NANOS, knownNanos) && idleNanos < closedNanos / 2;
    }
}
