package io.lambdadispatcher.worker.web;

import java.util.concurrent.TimeUnit;

/**
 * For how long a connection may have been idle to be used again. The application closes idle connections too, and a request that meets such a close on its
 * way is lost. One that may be repeated is repeated, so it is let on to any connection that is not older than the configured limit; for others the rule learns: once
 * the application has been seen to close a connection after some idle time, they get connections of at most half that age. Event loop only.
 */
final class IdleRule {
    /** An application that closes sooner does so for another reason, e.g. after a number of requests. */
    private static final long LEAST_LEARNED_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private final long limitNanos;
    private long carefulNanos;

    IdleRule(long limitNanos) {
        this.limitNanos = limitNanos;
        this.carefulNanos = limitNanos;
    }

    /** The application has closed a connection that had been idle for so long. */
    void onClosedIdle(long idleNanos) {
        carefulNanos = Math.min(carefulNanos, Math.max(LEAST_LEARNED_NANOS, idleNanos / 2));
    }

    boolean isYoung(long idleNanos) {
        return idleNanos < limitNanos;
    }

    boolean isSafe(long idleNanos) {
        return idleNanos < carefulNanos;
    }
}
