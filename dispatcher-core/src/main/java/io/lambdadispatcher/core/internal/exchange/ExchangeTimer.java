package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.internal.loop.TimerHeap;

/**
 * The times at which a policy acts on a request. All are in nanoseconds after the request's
 * arrival. Confined to the client's event loop.
 */
public final class ExchangeTimer extends TimerHeap.Timer {
    /** What the timer does when it is due. */
    enum Event {
        NONE,
        DEADLINE,
        ATTEMPT_TIMEOUT,
        HEDGE
    }

    static final long NEVER = Long.MAX_VALUE;

    private final Exchange exchange;

    /** When the request must be complete. */
    final long deadline;

    /** When the current attempt is given up. */
    private long attemptTimeout = NEVER;

    /** When a second attempt begins beside the first. */
    private long hedge = NEVER;

    ExchangeTimer(Exchange exchange, long deadline) {
        this.exchange = exchange;
        this.deadline = deadline;
    }

    boolean hasDeadline() {
        return deadline != NEVER;
    }

    /** An attempt has begun. */
    void onAttempt(long timeoutAfter, long hedgeAfter) {
        attemptTimeout = timeoutAfter;
        hedge = hedgeAfter;
    }

    /** No attempt is pending, or its response has begun. */
    void onNoAttempt() {
        attemptTimeout = NEVER;
        hedge = NEVER;
    }

    /** Returns the next event that is due, and forgets it. */
    Event poll(long elapsedNanos) {
        if (elapsedNanos >= deadline) {
            return Event.DEADLINE;
        } else if (elapsedNanos >= attemptTimeout) {
            attemptTimeout = NEVER;
            hedge = NEVER;
            return Event.ATTEMPT_TIMEOUT;
        } else if (elapsedNanos >= hedge) {
            hedge = NEVER;
            return Event.HEDGE;
        }
        return Event.NONE;
    }

    /** Returns when the next event is due, or {@link #NEVER}. */
    long next() {
        return Math.min(deadline, Math.min(attemptTimeout, hedge));
    }

    /** The timer is due. */
    public void onDue(long nowNanos) {
        exchange.onTimer(nowNanos);
    }
}
