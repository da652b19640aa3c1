package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.loop.FairQueue.Ticket;
import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Requests that wait although worker streams may be free: their client has too many requests with
 * unfinished bodies or unread responses, or the worker of their session has no free stream. They do
 * not wait in the queue, so they delay no other request and no worker is launched for them.
 *
 * <p>They are checked every 10 ms. A notification would be difficult, because any event loop can
 * make room. With 5,000 such requests, the check takes less than 1 % of the loop's time. Confined
 * to the shard's event loop.
 */
final class OverShare {
    private static final long LOOK_MILLIS = 10;

    private final EventLoop loop;
    private final Predicate<Exchange> hasRoom;
    private final Function<Exchange, Object> holder;
    private final Consumer<Ticket<Exchange>> onRoom;
    private final DeadlineQueue<Ticket<Exchange>> waiting;
    private boolean timerSet;

    // State of the check that is in progress.
    private final Set<Object> full = new HashSet<>();
    private final List<Ticket<Exchange>> all = new ArrayList<>();

    /**
     * @param holder returns whose room a request waits for: its client or its session's worker
     * @param onRoom receives each ticket that was removed because {@code hasRoom} was true
     */
    OverShare(
            EventLoop loop,
            long timeoutNanos,
            Function<Exchange, Object> holder,
            Predicate<Exchange> hasRoom,
            Consumer<Ticket<Exchange>> onRoom,
            Consumer<Ticket<Exchange>> onExpired) {
        this.loop = loop;
        this.holder = holder;
        this.hasRoom = hasRoom;
        this.onRoom = onRoom;
        this.waiting = new DeadlineQueue<>(loop, timeoutNanos, onExpired);
    }

    /** Changes the timeout of requests that are added from now on. */
    void setTimeout(long nanos) {
        waiting.setTimeout(nanos);
    }

    void add(Ticket<Exchange> ticket) {
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
        return ticket != null && waiting.remove(ticket);
    }

    @Nullable
    Ticket<Exchange> peek() {
        return waiting.peek();
    }

    /** Passes the requests that wait longest to {@code action}. */
    void forOldest(int limit, Consumer<Exchange> action) {
        waiting.forOldest(limit, ticket -> action.accept(ticket.entry));
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
        Object its = holder.apply(ticket.entry);
        if (full.contains(its)) {
            return;
        }
        if (hasRoom.test(ticket.entry)) {
            waiting.remove(ticket);
            onRoom.accept(ticket);
        } else {
            full.add(its);
        }
    }
}
