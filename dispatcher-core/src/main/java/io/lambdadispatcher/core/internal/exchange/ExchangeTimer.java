package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.internal.loop.TimerHeap;
import io.lambdadispatcher.core.internal.policy.DeadlineHeaders;
import io.lambdadispatcher.core.internal.policy.DeadlineRule;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The times at which a policy acts on one request: its deadline, and when it is tried once more.
 * Arguments are times of the event loop's clock, in nanoseconds. Confined to the client's event
 * loop.
 */
public final class ExchangeTimer extends TimerHeap.Timer {
    /** What is to be done when the timer is due. */
    enum Event {
        NONE,
        DEADLINE,
        NEXT_TRY
    }

    private static final long NEVER = DeadlineHeaders.NONE;

    private final Exchange exchange;
    private final DeadlinePolicy policy;
    private final long startNanos;

    // In nanoseconds after the request's arrival.

    /** When the response must be complete. */
    private final long deadline;

    /** When the request was complete; 0 if it has no body, or is not complete. */
    private long requestEnd;

    private long nextTry = NEVER;

    /** @param deadline in nanoseconds after the request's arrival */
    ExchangeTimer(Exchange exchange, DeadlinePolicy policy, long startNanos, long deadline) {
        this.exchange = exchange;
        this.policy = policy;
        this.startNanos = startNanos;
        this.deadline = deadline;
    }

    /** @return {@code null} if the policy never acts on this request */
    static @Nullable ExchangeTimer of(Exchange exchange, TrafficPolicy policy, Http2Headers head, long startNanos) {
        if (!policy.isTimed()) {
            return null;
        }
        long budget = DeadlineHeaders.budgetNanos(policy.deadline(), head);
        return budget == NEVER && !policy.attempts().isTimed()
                ? null
                : new ExchangeTimer(exchange, policy.deadline(), startNanos, budget);
    }

    boolean hasDeadline() {
        return deadline != NEVER;
    }

    /** Returns the time until the deadline; 0 or less if it is over. */
    long leftNanos(long nowNanos) {
        return deadline - (nowNanos - startNanos);
    }

    /** Returns whether a request that is queued would probably not be served in time. */
    boolean isHopeless(long nowNanos, long queuedNanos, long responseTimeNanos) {
        return hasDeadline() && DeadlineRule.isHopeless(leftNanos(nowNanos), queuedNanos, responseTimeNanos);
    }

    Failure lateFailure(String what) {
        return new Failure(
                Failure.Kind.DEADLINE_EXCEEDED,
                what + " within the deadline of " + TimeUnit.NANOSECONDS.toMillis(deadline) + " ms");
    }

    /** Tells the handler how long the client still waits, in the client's own headers. */
    void writeLeft(Http2Headers head, long nowNanos) {
        if (hasDeadline()) {
            DeadlineHeaders.writeLeft(policy, head, Math.max(1, leftNanos(nowNanos)));
        }
    }

    /** The client has sent the complete request. */
    void onRequestEnd(long nowNanos) {
        requestEnd = nowNanos - startNanos;
    }

    /**
     * Returns for how long a handler could have responded: a client may take long to send the body.
     *
     * @param tryNanos when its try began
     */
    long awaitedNanos(long tryNanos, long nowNanos) {
        return nowNanos - startNanos - Math.max(requestEnd, tryNanos - startNanos);
    }

    /**
     * Sets when the request is tried once more.
     *
     * @param tryNanos when the last try began
     * @param delayNanos after this try began, or after the request was complete; 0 = never
     */
    void setNextTry(long tryNanos, long delayNanos) {
        nextTry = delayNanos == 0 ? NEVER : Math.max(requestEnd, tryNanos - startNanos) + delayNanos;
    }

    /** No try is under way, or a response has begun. */
    void cancelNextTry() {
        nextTry = NEVER;
    }

    /** Returns the event that is due, and forgets it. */
    Event poll(long nowNanos) {
        long elapsed = nowNanos - startNanos;
        if (elapsed >= deadline) {
            return Event.DEADLINE;
        } else if (elapsed >= nextTry) {
            nextTry = NEVER;
            return Event.NEXT_TRY;
        }
        return Event.NONE;
    }

    /** Returns whether an event is ahead. */
    boolean isSet() {
        return next() != NEVER;
    }

    /** Returns when the next event is due, if there is one. */
    long dueNanos() {
        return startNanos + next();
    }

    private long next() {
        return Math.min(deadline, nextTry);
    }

    /** The timer is due. */
    public void onDue(long nowNanos) {
        exchange.onTimer(this, nowNanos);
    }
}
