package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.internal.loop.FairQueue.Ticket;
import io.lambdadispatcher.core.internal.loop.TimerHeap;
import io.lambdadispatcher.core.internal.policy.DeadlineHeaders;
import io.lambdadispatcher.core.internal.policy.DeadlineRule;
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
    private static final long NEVER = DeadlineHeaders.NONE;

    private final Exchange exchange;
    private final ExchangeOwner owner;

    // In nanoseconds after the request's arrival.

    /** When the response must be complete. */
    private final long deadline;

    /** When the request was complete; 0 if it has no body, or is not complete. */
    private long requestEnd;

    private long nextTry = NEVER;

    /** @param deadline in nanoseconds after the request's arrival */
    ExchangeTimer(Exchange exchange, ExchangeOwner owner, long deadline) {
        this.exchange = exchange;
        this.owner = owner;
        this.deadline = deadline;
    }

    /** @return {@code null} if the policy never acts on this request */
    static @Nullable ExchangeTimer of(Exchange exchange, ExchangeOwner owner, TrafficPolicy policy, Http2Headers head) {
        if (!policy.isTimed()) {
            return null;
        }
        long budget = DeadlineHeaders.budgetNanos(policy.deadline(), head);
        return budget == NEVER && !policy.attempts().isTimed() ? null : new ExchangeTimer(exchange, owner, budget);
    }

    /**
     * Starts the deadline.
     *
     * @return false if the client no longer waits
     */
    boolean start() {
        if (deadline > 0) {
            set();
        }
        return deadline > 0;
    }

    boolean hasDeadline() {
        return deadline != NEVER;
    }

    private long elapsed(long nanos) {
        return nanos - exchange.startNanos();
    }

    /** Returns the time until the deadline; 0 or less if it is over. */
    long leftNanos(long nowNanos) {
        return deadline - elapsed(nowNanos);
    }

    /** Returns whether a request that is queued would probably not be served in time. */
    boolean isHopeless(@Nullable Ticket<Exchange> queued, long nowNanos) {
        return hasDeadline()
                && queued != null
                && DeadlineRule.isHopeless(
                        leftNanos(nowNanos), nowNanos - queued.sinceNanos(), owner.responseTimeNanos(0.95));
    }

    Failure lateFailure(String what) {
        return new Failure(
                Failure.Kind.DEADLINE_EXCEEDED,
                what + " within the deadline of " + TimeUnit.NANOSECONDS.toMillis(deadline) + " ms");
    }

    /** Tells the handler how long the client still waits, in the client's own headers. */
    void writeLeft(Http2Headers head, long nowNanos) {
        if (hasDeadline()) {
            DeadlineHeaders.writeLeft(exchange.policy().deadline(), head, Math.max(1, leftNanos(nowNanos)));
        }
    }

    /** The client has sent the complete request. */
    void onRequestEnd(long nowNanos) {
        requestEnd = elapsed(nowNanos);
    }

    /**
     * Returns for how long a handler could have responded: a client may take long to send the body.
     *
     * @param tryNanos when its try began
     */
    long awaitedNanos(long tryNanos, long nowNanos) {
        return elapsed(nowNanos) - Math.max(requestEnd, elapsed(tryNanos));
    }

    /**
     * Sets when the request is tried once more.
     *
     * @param tryNanos when the last try began
     * @param delayNanos after this try began, or after the request was complete; 0 = never
     */
    void setNextTry(long tryNanos, long delayNanos) {
        nextTry = delayNanos == 0 ? NEVER : Math.max(requestEnd, elapsed(tryNanos)) + delayNanos;
        set();
    }

    /** No try is in flight, or a response has begun. */
    void cancelNextTry() {
        nextTry = NEVER;
    }

    /** The deadline has been kept, or the exchange has ended. */
    void cancel() {
        owner.timers().cancel(this);
    }

    private void set() {
        long next = Math.min(deadline, nextTry);
        if (next != NEVER) {
            owner.timers().set(this, exchange.startNanos() + next);
        }
    }

    /** The timer is due. */
    public void onDue(long nowNanos) {
        long elapsed = elapsed(nowNanos);
        if (elapsed >= deadline) {
            exchange.failLate(this);
        } else if (elapsed >= nextTry) {
            nextTry = NEVER;
            exchange.onNextTryDue(this, nowNanos);
        }
        // Each of these can end the exchange, whose object may then serve another request.
        if (exchange.timer() == this && !exchange.isEnded()) {
            set();
        }
    }
}
