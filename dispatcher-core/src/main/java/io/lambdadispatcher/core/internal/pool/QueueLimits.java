package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.loop.FairQueue.Ticket;
import io.lambdadispatcher.core.internal.loop.LoopClock;
import io.lambdadispatcher.core.internal.policy.PriorityShares;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.options.Priority;
import io.lambdadispatcher.wire.http.PrintableText;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The limits for a function's requests that wait on one event loop: which must not begin to wait,
 * because too many wait or they use too much memory, and which are shed, because they have waited
 * too long. Counts their memory, and their number for each client. Confined to the event loop.
 */
final class QueueLimits {
    private final FunctionPool pool;
    private final LoopClock clock;
    private final DispatcherObserver observer;
    final WaitingMemory memory = new WaitingMemory();

    QueueLimits(FunctionPool pool, LoopClock clock, DispatcherObserver observer) {
        this.pool = pool;
        this.clock = clock;
        this.observer = observer;
    }

    /**
     * Counts a new request as waiting, unless it must not wait.
     *
     * @param waitingHere the number of requests that wait on this event loop
     * @return why it must not wait; {@code null} = it is counted
     */
    @Nullable
    Failure tryAdd(Exchange exchange, int waitingHere) {
        Failure refusal = pool.refusal(exchange, exchange.startNanos(), clock.nanoTime());
        if (refusal != null) {
            return refusal;
        }
        Priority priority = exchange.place().priority();
        if (priority != null && pool.streams() > 0 && pool.priorities.refuses(priority, shedNanos(exchange))) {
            return shed(priority);
        }
        long bytes = exchange.waitingBytes();
        if (!memory.admits(bytes, bytes, waitingHere)) {
            return memoryRefused();
        }
        int max = pool.options().queueLimit();
        int limit = priority == null ? max : PriorityShares.queueLimit(priority, max);
        if (pool.queued() >= limit || !exchange.place().share(pool.shares).tryQueue(pool.queueShare(limit))) {
            return new Failure(
                    Failure.Kind.QUEUE_FULL,
                    "no worker free for function " + pool.options().name() + " and "
                            + PrintableText.counted(pool.queued(), "request is", "requests are") + " already queued");
        }
        memory.add(bytes);
        return null;
    }

    /** Counts a request as waiting that has waited or was served before. No limit applies. */
    void add(Exchange exchange) {
        memory.add(exchange.waitingBytes());
        exchange.place().share(pool.shares).onQueued();
    }

    /** A request no longer waits. */
    void remove(Exchange exchange) {
        memory.remove(exchange.waitingBytes());
        exchange.place().share(pool.shares).onDequeued();
    }

    /**
     * Counts a part of a body that has arrived while its request waits.
     *
     * @param waitingHere the number of requests that wait on this event loop
     * @return why the request must not wait any longer, or {@code null}
     */
    @Nullable
    Failure onHeld(Exchange exchange, int bytes, int waitingHere) {
        memory.add(bytes);
        boolean admitted = bytes <= 0 || memory.admits(exchange.waitingBytes(), 0, waitingHere);
        return admitted ? null : memoryRefused();
    }

    private Failure memoryRefused() {
        observer.onProtection(Protection.MEMORY_REFUSED);
        return new Failure(
                Failure.Kind.OVERLOADED,
                "the queued requests of function " + pool.options().name() + " use too much memory");
    }

    /**
     * Returns why the head of the queue is not served, or {@code null} if it has not waited too
     * long.
     *
     * @param last whether no other request is queued here. The last request is not shed, because
     *     shedding must leave no stream idle
     */
    @Nullable
    Failure shedding(Ticket<Exchange> head, boolean last) {
        long now = clock.nanoTime();
        if (!last && pool.standing.isStale(head.sinceNanos(), now)) {
            observer.onProtection(Protection.QUEUE_SHED);
            return timeout(
                    "no worker is likely to be free soon", ", because its queue has not been empty for too long");
        }
        Priority priority = head.entry.place().priority();
        return priority != null && hasWaitedTooLong(head, priority, now) && !last ? shed(priority) : null;
    }

    private boolean hasWaitedTooLong(Ticket<Exchange> head, Priority priority, long nowNanos) {
        long waitedNanos = pool.standing.waitedNanos(head.sinceNanos(), nowNanos);
        return pool.priorities.sheds(priority, shedNanos(head.entry), waitedNanos, nowNanos);
    }

    private static long shedNanos(Exchange exchange) {
        return exchange.policy().admission().maxQueueDelay().toNanos();
    }

    private Failure shed(Priority priority) {
        return new Failure(
                Failure.Kind.SHED,
                "too many " + priority.name().toLowerCase(Locale.ROOT) + " requests are queued for function "
                        + pool.options().name());
    }

    /** Returns the failure of a request that has waited for the queue timeout. */
    Failure timeout(String why) {
        return timeout(why, " within " + pool.options().queueTimeout().toMillis() + " ms");
    }

    private Failure timeout(String why, String more) {
        return new Failure(
                Failure.Kind.QUEUE_TIMEOUT,
                why + " for function " + pool.options().name() + more);
    }
}
