package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.ClientShare;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.loop.FairQueue.Ticket;
import io.lambdadispatcher.core.internal.loop.LoopClock;
import io.lambdadispatcher.core.internal.policy.ClientSession;
import io.lambdadispatcher.core.observe.RequestSnapshot;
import io.lambdadispatcher.core.observe.WaitReason;
import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Requests that wait although worker streams may be free: their client has too many requests with
 * unfinished bodies or unread responses, or the worker of their session has no free stream, or they
 * last long and all workers with room are replaced soon, or are WebSockets and only the handler in
 * process has room. They do not wait in the queue, so they delay no other request. A worker is
 * launched only for those WebSockets.
 *
 * <p>They are checked every 10 ms. A notification would be difficult, because any event loop can
 * make room. With 5,000 such requests, the check takes less than 1 % of the loop's time. Confined
 * to the shard's event loop.
 */
final class SetAside {
    private static final long LOOK_MILLIS = 10;

    /**
     * Maximum number of a function's open bodies that count against no client's share, over all
     * event loops. They occupy at most an eighth of the streams, too.
     */
    private static final int ANYONES_BODIES = 8;

    private final FunctionPool pool;
    private final EventLoop loop;
    private final LoopClock clock;
    private final Consumer<Ticket<Exchange>> onRoom;
    private final DeadlineQueue<Ticket<Exchange>> waiting;
    private boolean timerSet;

    /**
     * A share that belongs to no client, for the first few open bodies. Most bodies arrive with
     * their request headers and end in the same turn. They need no look-up of a client's share.
     */
    private final ClientShare anyone = ClientShare.ofAnyone();

    // State of the check that is in progress.
    private final Set<Object> full = new HashSet<>();
    private final List<Ticket<Exchange>> all = new ArrayList<>();

    /**
     * @param onRoom receives each ticket that was removed because its request may go now
     * @param onExpired receives each ticket that was removed because its time is over
     */
    SetAside(
            FunctionPool pool,
            EventLoop loop,
            LoopClock clock,
            long timeoutNanos,
            Consumer<Ticket<Exchange>> onRoom,
            Consumer<Ticket<Exchange>> onExpired) {
        this.pool = pool;
        this.loop = loop;
        this.clock = clock;
        this.onRoom = onRoom;
        this.waiting = new DeadlineQueue<>(loop, timeoutNanos, expired -> {
            pool.setAside.decrementAndGet();
            onExpired.accept(expired);
        });
    }

    /** Changes the timeout of requests that are added from now on. */
    void setTimeout(long nanos) {
        waiting.setTimeout(nanos);
    }

    // Whether a request may go.

    /**
     * Returns why the exchange must not take a worker stream now, or {@code null} if it may. If it
     * may, and may hold up the stream, it holds a place in a share from now on.
     */
    @Nullable
    WaitReason reason(Exchange exchange) {
        WaitReason reason = reasonOfQueued(exchange);
        if (reason == null && waitsForReplacement(exchange)) {
            exchange.place().release(); // Without a stream, it occupies nothing.
            return WaitReason.WORKERS_STARTING;
        }
        return reason;
    }

    /**
     * As {@link #reason}, for a request whose turn in the queue has come. All streams were busy, so
     * it takes the first one, also of a worker that is replaced soon.
     */
    @Nullable
    WaitReason reasonOfQueued(Exchange exchange) {
        if (!mayBegin(exchange)) {
            return WaitReason.CLIENT_SHARE;
        }
        if (waitsForItsWorker(exchange)) {
            exchange.place().release();
            return WaitReason.SESSION_WORKER;
        }
        if (waitsForOtherWorker(exchange)) {
            exchange.place().release();
            return WaitReason.WORKERS_STARTING;
        }
        return null;
    }

    /**
     * A client must not occupy too many worker streams with unfinished bodies, or with responses
     * that it does not read. Holds a place in its share if it returns true.
     */
    boolean mayBegin(Exchange exchange) {
        boolean preempted = isPreempted(exchange);
        if (exchange.isRequestEnded() && !preempted) {
            return true;
        }
        // A place that it has is judged again: other requests may be queued by now.
        exchange.place().release();
        return !preempted && exchange.place().hold(anyone, anyonesBodies())
                || exchange.place()
                        .hold(
                                exchange.place().share(pool.shares),
                                pool.holdLimit(!preempted && exchange.fillsWindow()));
    }

    private int anyonesBodies() {
        return Math.min(ANYONES_BODIES, pool.streams() / ANYONES_BODIES)
                / pool.shards().size();
    }

    /** A client stays preempted while it has more than its share. */
    private boolean isPreempted(Exchange exchange) {
        long now = clock.nanoTime();
        if (!pool.hasPreempted(now)) {
            return false;
        }
        ClientShare client = exchange.place().share(pool.shares);
        boolean preempted = client.isPreempted(now);
        if (preempted && client.held() > Math.max(1, pool.share())) {
            pool.onPreempted(client, now + Preemption.MEMORY_NANOS);
        }
        return preempted;
    }

    /** Returns whether the worker of the exchange's session is connected but has no free stream. */
    private boolean waitsForItsWorker(Exchange exchange) {
        ClientSession session = exchange.place().session();
        return session != null
                && session.waitsFor(pool.openWorkers.all(), exchange.attempts().tried());
    }

    /**
     * Returns whether only workers have room that are replaced soon, and a replacement is expected.
     * A tunnel or a long response that begins on such a worker would be cut off when the worker
     * drains, and begin again on another one, perhaps several times.
     */
    boolean waitsForReplacement(Exchange exchange) {
        OpenWorkers workers = pool.openWorkers;
        List<String> tried = exchange.attempts().tried();
        ClientSession session = exchange.place().session();
        return workers.isAnyDue()
                && exchange.lastsLong()
                && (session == null || !session.isBound(workers.all(), tried))
                && pool.free() > 0
                && pool.launches()
                && !workers.hasStaying(tried);
    }

    private boolean waitsForOtherWorker(Exchange exchange) {
        return pool.isForOtherWorkers(exchange)
                && pool.openWorkers.leastBusyNotInProcess(exchange.attempts().tried(), clock.nanoTime()) == null;
    }

    /** Returns the number of those that only workers serve that are not in process. */
    int tunnels() {
        int[] tunnels = {0};
        forOldest(waiting.size(), exchange -> tunnels[0] += exchange.asksForTunnel() ? 1 : 0);
        return tunnels[0];
    }

    // Those that wait.

    void add(Ticket<Exchange> ticket) {
        pool.setAside.incrementAndGet();
        waiting.add(ticket, ticket.sinceNanos());
        setTimer();
    }

    int size() {
        return waiting.size();
    }

    /** @return false if the ticket is {@code null} or not here */
    boolean contains(@Nullable Ticket<Exchange> ticket) {
        return ticket != null && waiting.contains(ticket);
    }

    /** @return false if the ticket is {@code null} or not here */
    boolean remove(@Nullable Ticket<Exchange> ticket) {
        boolean removed = ticket != null && waiting.remove(ticket);
        if (removed) {
            pool.setAside.decrementAndGet();
        }
        return removed;
    }

    @Nullable
    Ticket<Exchange> peek() {
        return waiting.peek();
    }

    /** Passes the requests that wait longest to {@code action}. */
    void forOldest(int limit, Consumer<Exchange> action) {
        waiting.forOldest(limit, ticket -> action.accept(ticket.entry));
    }

    void inspect(int limit, Consumer<RequestSnapshot> snapshots) {
        forOldest(
                limit,
                exchange -> snapshots.accept(exchange.snapshot(
                        awaited(exchange) instanceof ClientShare
                                        && !waitsForReplacement(exchange)
                                        && !waitsForOtherWorker(exchange)
                                ? RequestSnapshot.State.OVER_SHARE
                                : RequestSnapshot.State.QUEUED)));
    }

    private void setTimer() {
        if (!timerSet) {
            timerSet = true;
            loop.schedule(this::look, LOOK_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private void look() {
        timerSet = false;
        // A copy, because other requests may end when one is served.
        waiting.forEach(all::add);
        try {
            for (Ticket<Exchange> ticket : all) {
                if (waiting.contains(ticket)) {
                    lookAt(ticket);
                }
            }
        } finally {
            all.clear();
            full.clear();
            if (waiting.size() > 0) {
                setTimer();
            }
        }
    }

    /** Checks one request. If there is no room for it, later requests for the same are skipped. */
    private void lookAt(Ticket<Exchange> ticket) {
        Exchange exchange = ticket.entry;
        Object its = awaited(exchange);
        Object workers = exchange.asksForTunnel() ? pool : pool.openWorkers;
        if (full.contains(its) || full.contains(workers) && exchange.lastsLong()) {
            return;
        }
        WaitReason reason = reason(exchange);
        if (reason == null) {
            go(ticket);
        } else {
            full.add(reason == WaitReason.WORKERS_STARTING ? workers : its);
        }
    }

    /** Returns whose room a request waits for: its session's worker, or its client's share. */
    private Object awaited(Exchange exchange) {
        ClientSession session = exchange.place().session();
        return session != null && session.isWaiting()
                ? session.worker()
                : exchange.place().share(pool.shares);
    }

    private void go(Ticket<Exchange> ticket) {
        remove(ticket);
        onRoom.accept(ticket);
    }

    /** More of the request has arrived, so it may no longer have to wait for its client's share. */
    void lookAgainAt(Exchange exchange) {
        Ticket<Exchange> ticket = exchange.place().ticket();
        if (ticket != null && waiting.contains(ticket) && reason(exchange) == null) {
            go(ticket);
        }
    }
}
