package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.loop.FairQueue;
import io.lambdadispatcher.core.internal.loop.FairQueue.Ticket;
import io.lambdadispatcher.core.internal.loop.LoopClock;
import io.lambdadispatcher.core.internal.policy.ClientSession;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.observe.RequestSnapshot;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.Priority;
import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A function's requests of one event loop that have no worker stream. A request that finds none is
 * queued, {@link SetAside set aside} or refused. {@link WakeUps} serves the queue when there are
 * permits: then the first request gets a stream from {@link Placement}, or is shed because it has
 * waited too long. Requests in the queue are served in the order of their tags, over all event
 * loops. Confined to the event loop.
 */
final class ShardQueue {
    final WakeUps wakeUps;
    final Placement placement;

    private final FunctionPool pool;
    private final EventLoop loop;
    private final LoopClock clock;
    private final DispatcherObserver observer;
    private final ShardTotals totals;
    private final FairQueue<Exchange> waiting;
    private final SetAside setAside;
    private final QueueLimits limits;
    private @Nullable Overflow overflow;

    /** Why no exchange can begin any more; {@code null} = one can. */
    private @Nullable Failure closed;

    /** @param inFlight receives the exchanges that have a worker stream */
    ShardQueue(
            PoolShard home,
            LoopClock clock,
            DispatcherObserver observer,
            FreeStreams free,
            DeadlineQueue<Exchange> inFlight,
            ShardTotals totals) {
        this.pool = home.pool();
        this.loop = home.loop();
        this.clock = clock;
        this.observer = observer;
        this.totals = totals;
        this.limits = new QueueLimits(pool, clock, observer);
        long timeoutNanos = timeoutNanos(pool.options());
        this.waiting = new FairQueue<>(loop, timeoutNanos, this::onTimeout);
        this.setAside = new SetAside(pool, loop, clock, timeoutNanos, this::onRoom, this::onSetAsideTimeout);
        this.wakeUps = new WakeUps(pool, loop, clock, free, waiting, this::serveHead);
        this.placement = new Placement(home, free, wakeUps, inFlight, this::waitAgain);
    }

    /** In a queue, 0 means no timeout. */
    private static long timeoutNanos(FunctionOptions options) {
        return Math.max(1, options.queueTimeout().toNanos());
    }

    /** Applies a new timeout. Requests that wait keep theirs. */
    void setOptions(FunctionOptions options) {
        waiting.setTimeout(timeoutNanos(options));
        setAside.setTimeout(timeoutNanos(options));
    }

    /** Implements {@link PoolShard#limitMemoryBy}. */
    void limitMemoryBy(LongSupplier freeBytes) {
        limits.memory.limitBy(freeBytes);
    }

    /** Implements {@link PoolShard#overflow}. */
    void overflow(Duration after, Supplier<@Nullable Carrier> way) {
        overflow = new Overflow(loop, after, way, this::onOverflowDue);
    }

    // Requests that need a worker stream.

    /** Gives a new request a worker stream, or lets it wait, or fails it. */
    void place(Exchange exchange) {
        WaitReason reason = setAside.reason(exchange);
        if (reason != WaitReason.CLIENT_SHARE) {
            totals.onArrived(exchange);
        }
        // If requests are queued on any loop, one of them may be next.
        if (reason == null && pool.pending() == 0 && placement.dispatch(exchange)) {
            return;
        }
        Failure refusal = limits.tryAdd(exchange, size());
        if (refusal != null) {
            exchange.fail(refusal);
            return;
        }
        Ticket<Exchange> ticket = waiting.newTicket(exchange, nextTag(exchange), exchange.startNanos());
        if (reason != null) {
            exchange.onSetAside(reason);
        }
        exchange.onWaiting(ticket);
        if (overflow != null) {
            overflow.onWaiting(exchange);
        }
        if (reason == null) {
            enqueue(ticket);
        } else {
            keepAside(ticket, reason);
        }
    }

    private long nextTag(Exchange exchange) {
        Priority priority = exchange.place().priority();
        return priority == null
                ? exchange.place().share(pool.shares).nextTag(pool.virtualTime())
                : pool.priorities.nextTag(priority, pool.virtualTime());
    }

    /** Gives another worker stream to an exchange whose attempt has failed, or lets it wait. */
    void retry(Exchange exchange) {
        // Not by way of the queue: while it is not empty, other loops would not retry.
        if (pool.pending() != 0 || setAside.reason(exchange) != null || !placement.dispatch(exchange)) {
            waitAgain(exchange);
        }
    }

    /** Queues an exchange that has lost nothing but time. Its timeout continues. */
    void waitAgain(Exchange exchange) {
        if (closed != null) {
            exchange.fail(closed);
            return;
        }
        Ticket<Exchange> earlier = exchange.place().ticket();
        queueAgain(earlier == null ? newTicketInFront(exchange, exchange.startNanos()) : earlier);
        serveOrReport();
    }

    private void queueAgain(Ticket<Exchange> ticket) {
        Exchange exchange = ticket.entry;
        exchange.onWaiting(ticket);
        limits.add(exchange);
        onPending(exchange);
        waiting.add(ticket);
        // Lambda has just throttled what was sent directly.
        if (overflow != null && !exchange.attempts().wasDirect()) {
            overflow.onWaiting(exchange);
        }
    }

    /**
     * Creates a ticket for a request that was already served: its client's turn is not over yet.
     */
    Ticket<Exchange> newTicketInFront(Exchange exchange, long sinceNanos) {
        return waiting.newTicket(exchange, pool.virtualTime(), sinceNanos);
    }

    private void enqueue(Ticket<Exchange> ticket) {
        // This order prevents lost wake-ups: see the comment of WakeUps.
        onPending(ticket.entry);
        waiting.add(ticket);
        serveOrReport();
    }

    private void serveOrReport() {
        wakeUps.serveWaiting();
        if (waiting.size() > 0) {
            pool.onShortage();
            pool.observeStreams();
        }
    }

    private void keepAside(Ticket<Exchange> ticket, WaitReason reason) {
        if (reason == WaitReason.CLIENT_SHARE) {
            observer.onProtection(Protection.SHARE_EXCEEDED);
        }
        setAside.add(ticket);
        if (reason == WaitReason.WORKERS_STARTING) {
            pool.onShortage();
        }
    }

    /** Queues a request that was set aside, because there is room for it now. */
    private void onRoom(Ticket<Exchange> ticket) {
        totals.onArrived(ticket.entry);
        enqueue(ticket);
    }

    // Requests that get a worker stream, or have waited too long.

    /**
     * Serves, sheds or queues again the first request of the queue.
     *
     * @return false if it is empty
     */
    private boolean serveHead() {
        Ticket<Exchange> head = waiting.poll();
        if (head == null) {
            return false;
        }
        Exchange exchange = head.entry;
        // Counted off first, because the carrier may end the exchange immediately.
        onLeft(exchange);
        if (exchange.failIfHopeless(clock.nanoTime())) {
            return true;
        }
        Failure shedding = limits.shedding(head, waiting.size() == 0);
        if (shedding != null) {
            exchange.fail(shedding);
            return true;
        }
        WaitReason reason = setAside.reasonOfQueued(exchange);
        if (reason != null) {
            limits.add(exchange);
            keepAside(head, reason);
        } else if (placement.dispatch(exchange)) {
            pool.onServed(head.tag);
        } else {
            queueAgain(head);
        }
        return true;
    }

    private void onTimeout(Ticket<Exchange> expired) {
        onLeft(expired.entry);
        boolean isAnyConnected = pool.streams() > 0;
        if (!isAnyConnected) {
            pool.warnOfNoWorker();
        }
        expired.entry.fail(limits.timeout(isAnyConnected ? "no worker free" : "no worker connected"));
    }

    private void onSetAsideTimeout(Ticket<Exchange> expired) {
        Exchange exchange = expired.entry;
        limits.remove(exchange);
        if (!setAside.mayBegin(exchange)) {
            exchange.fail(limits.timeout("too many unfinished requests of the same client"));
            return;
        }
        ClientSession session = exchange.place().session();
        boolean forSession = false;
        if (session != null && session.isWaiting()) {
            session.stopWaiting();
            forSession = true;
        }
        if (!placement.dispatch(exchange)) {
            exchange.fail(limits.timeout(
                    forSession
                            ? "the worker of the session has no room"
                            : "no worker that can serve it has become free"));
        }
    }

    private void onOverflowDue(Exchange exchange) {
        if (overflow == null || !contains(exchange)) {
            return;
        }
        // Workers have room for a request that waits for a replacement.
        boolean leaves = !setAside.contains(exchange.place().ticket()) || !setAside.waitsForReplacement(exchange);
        Carrier carrier = leaves ? overflow.carrierFor(exchange) : null;
        if (carrier == null) {
            overflow.onWaiting(exchange);
        } else if (leave(exchange)) {
            placement.carry(exchange, carrier);
        }
    }

    // Changes of those that wait.

    /** Implements {@link PoolShard#onHeld}. */
    void onHeld(Exchange exchange, int bytes) {
        Failure refusal = limits.onHeld(exchange, bytes, size());
        if (refusal != null) {
            exchange.fail(refusal);
        } else if (exchange.fillsWindow() && !exchange.isRequestEnded()) {
            setAside.lookAgainAt(exchange);
        }
    }

    /** The request is complete, so it may no longer have to wait for its client's share. */
    void onRequestEnded(Exchange exchange) {
        setAside.lookAgainAt(exchange);
    }

    /**
     * Removes the exchange.
     *
     * @return false if it does not wait
     */
    boolean leave(Exchange exchange) {
        Ticket<Exchange> ticket = exchange.place().ticket();
        if (waiting.remove(ticket)) {
            onLeft(exchange);
            return true;
        }
        boolean wasSetAside = setAside.remove(ticket);
        if (wasSetAside) {
            limits.remove(exchange);
        }
        return wasSetAside;
    }

    private void onPending(Exchange exchange) {
        boolean first = pool.onPending(clock.nanoTime());
        Priority priority = exchange.place().priority();
        if (priority != null) {
            pool.priorities.onQueued(priority, first);
        }
    }

    private void onLeft(Exchange exchange) {
        pool.pending.decrementAndGet();
        Priority priority = exchange.place().priority();
        if (priority != null) {
            pool.priorities.onLeft(priority);
        }
        limits.remove(exchange);
    }

    /** Fails the requests that cannot be served in time, because launches are blocked. */
    void refuseWaiting() {
        assert loop.inEventLoop();
        List<Exchange> queued = new ArrayList<>();
        waiting.forOldest(waiting.size(), queued::add);
        setAside.forOldest(setAside.size(), queued::add);
        for (Exchange exchange : queued) {
            Ticket<Exchange> ticket = exchange.place().ticket();
            // A request that fails may end or start others.
            if (ticket != null && contains(exchange)) {
                Failure refusal = pool.refusal(exchange, ticket.sinceNanos(), clock.nanoTime());
                if (refusal != null) {
                    exchange.fail(refusal);
                }
            }
        }
    }

    /**
     * Fails every request, and every later one.
     *
     * @return whether one was waiting
     */
    boolean close(Failure failure) {
        closed = failure;
        boolean any = size() > 0;
        for (Ticket<Exchange> left = waiting.peek(); left != null; left = waiting.peek()) {
            left.entry.fail(failure);
        }
        for (Ticket<Exchange> left = setAside.peek(); left != null; left = setAside.peek()) {
            left.entry.fail(failure);
        }
        return any;
    }

    /** Returns why no exchange can begin any more; {@code null} = one can. */
    @Nullable
    Failure closed() {
        return closed;
    }

    private boolean contains(Exchange exchange) {
        return waiting.contains(exchange.place().ticket())
                || setAside.contains(exchange.place().ticket());
    }

    /** Returns the number of requests that wait, whatever they wait for. */
    int size() {
        return pending() + setAside.size();
    }

    /** Returns the number of requests that wait for a permit. */
    int pending() {
        return waiting.size();
    }

    /** Returns the number of waiting WebSockets that the handler in process does not serve. */
    int waitingTunnels() {
        return setAside.tunnels();
    }

    void inspect(int limit, Consumer<RequestSnapshot> snapshots) {
        waiting.forOldest(limit, exchange -> snapshots.accept(exchange.snapshot(RequestSnapshot.State.QUEUED)));
        setAside.inspect(limit, snapshots);
    }
}
