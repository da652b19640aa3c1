package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.internal.loop.FairQueue;
import io.lambdadispatcher.core.internal.loop.TimerHeap;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.RequestSnapshot;
import io.lambdadispatcher.core.observe.RetryDenial;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.core.options.FunctionOptions;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The part of a pool on the exchange's event loop, which the exchange notifies. */
public interface ExchangeOwner {
    TimerHeap<ExchangeTimer> timers();

    /**
     * Takes another attempt from the budget. {@link #retry} follows if this returns {@code null}.
     *
     * @return why there must be none; {@code null} = it is taken
     */
    @Nullable
    RetryDenial takeExtraAttempt(ExtraAttempt reason);

    /** Tries another worker for an exchange whose attempt has failed or is given up. */
    default void retry(Exchange exchange) {
        throw new IllegalStateException("no attempt was taken from the budget");
    }

    /**
     * Starts a try beside others on a worker that is not among {@code tried}, if one is free and
     * the budget allows it.
     *
     * @return why it did not start; {@code null} = it has started, and may have ended
     */
    default @Nullable RetryDenial start(Try next, List<String> tried) {
        return RetryDenial.DIRECT;
    }

    /** Records the time from the start of an attempt to the headers of its response, or longer. */
    default void onResponseTime(long nanos) {}

    /** Returns a quantile of recent response times; 0 = not known. */
    default long responseTimeNanos(double quantile) {
        return 0;
    }

    /**
     * Returns a place in front of the queue whose timeout begins now, for an attempt that follows
     * another one; {@code null} if there is no queue. It is used if the attempt finds no room.
     */
    default FairQueue.@Nullable Ticket<Exchange> newTicket(Exchange exchange) {
        return null;
    }

    /**
     * Queues an exchange again, in front, because its worker had no room.
     *
     * @return false if the owner's workers always have room
     */
    default boolean requeue(Exchange exchange) {
        return false;
    }

    /** Returns whether a worker may have no room for a request. */
    default boolean mayBeBusy() {
        return false;
    }

    /**
     * Returns whether a sent part of a body may be kept for another attempt. {@link #onSentDropped}
     * follows if it may.
     */
    default boolean mayKeepSent(int bytes) {
        return false;
    }

    /** Sent parts of a body are no longer kept. */
    default void onSentDropped(int bytes) {}

    /**
     * The client has ended a request that did not end with its headers. The exchange may have ended
     * before.
     */
    void onRequestEnded(Exchange exchange);

    /**
     * A part of the body has arrived while the exchange waits, and is held. The owner may fail the
     * exchange.
     */
    default void onHeld(Exchange exchange, int bytes) {}

    /**
     * Called once, when the complete response has been passed on, or nobody wants it any more.
     *
     * @param failure {@code null} unless the outcome is FAILED
     */
    void onEnded(Exchange exchange, Outcome outcome, @Nullable Failure failure);

    /** The exchange has become a tunnel, which has no timeout. */
    void onTunnelOpened(Exchange exchange);

    /** Returns whether no exchange waits or is in flight, except for tunnels. Event loop only. */
    boolean isQuiet();

    /**
     * Fails every exchange that is queued, and every later one. Event loop only.
     *
     * @return whether one was queued
     */
    boolean failQueued(Failure failure);

    /**
     * Fails every exchange that has not ended, and every later one: a request can wait in front of
     * the pool. Event loop only.
     */
    void failAll(Failure failure);

    /**
     * Passes on the oldest exchanges that have not ended, at most {@code limit} of each state.
     * Event loop only.
     */
    void inspect(int limit, Consumer<RequestSnapshot> snapshots);

    String function();

    /** Replaces the options of the function. Event loop only. */
    void setOptions(FunctionOptions options);

    /** Returns why a request is queued now. */
    WaitReason waitReason();

    /** Returns the time of the event loop's clock. */
    long nanoTime();

    /**
     * Returns the time limit from the first attempt to the end of the response, or to the response
     * headers of a tunnel; 0 means no limit.
     */
    long workerTimeoutNanos();
}
