package io.lambdadispatcher.worker.internal.connect;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The requests that a worker has room for, divided between its connections. Used as soon as several
 * dispatchers send requests, because each of them may use all its worker streams. There are as many
 * slots as one dispatcher has streams.
 *
 * <p>A dispatcher that is refused would wait forever for one that takes each slot again as soon as
 * it is free. So when a request of a connection was refused, and the connection has fewer slots
 * than its equal share, the next free slot is reserved for it, and its dispatcher is called.
 * A higher limit frees slots, too. As long as the dispatcher uses what is reserved, it is called
 * again. Connections take turns. Any thread.
 */
final class Slots {
    /** Some round trips between a worker and a dispatcher in the same region. */
    private static final long RESERVED_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    /** A dispatcher that has a request for this worker tries again within half of this time. */
    private static final long WAITING_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final LongSupplier nanoTime;

    /** The connections that have a slot. */
    private final Set<Share> holders = new HashSet<>();

    /** The connections that a slot was refused to, the first to be called first. */
    private final Deque<Share> waiting = new ArrayDeque<>();

    /** The connections that a slot is reserved for, one each, the first called first. */
    private final Deque<Share> called = new ArrayDeque<>();

    /** What the connections of one dispatcher can carry, and the most that is wanted. */
    private int carried;

    private int limit = Integer.MAX_VALUE;

    /** Below 0 while there are more requests than a limit that has become lower. */
    private int free;

    /** @param nanoTime clock, as {@link System#nanoTime} */
    Slots(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /** The part of one connection. */
    final class Share {
        private final Runnable call;
        private int held;

        /** The end of its time in {@link #waiting} or {@link #called}. */
        private long untilNanos;

        private Share(Runnable call) {
            this.call = call;
        }

        /**
         * @param callable whether its dispatcher can be called
         * @return false if there is no slot for the connection
         */
        boolean take(boolean callable) {
            return Slots.this.take(this, callable);
        }

        void give() {
            Share next = Slots.this.give(this);
            if (next != null) {
                next.call.run();
            }
        }

        /** The connection is closed. It still gives the slots that it has. */
        void close() {
            Slots.this.forget(this);
        }
    }

    synchronized void add(int slots) {
        resize(carried + slots, limit);
    }

    /** Sets the most slots that there are. */
    void limit(int slots) {
        reserved(slots).forEach(share -> share.call.run());
    }

    /** Returns the connections that the slots are now reserved for which the new limit adds. */
    private synchronized List<Share> reserved(int newLimit) {
        resize(carried, newLimit);
        List<Share> all = new ArrayList<>();
        Share next = free > 0 ? next(null) : null;
        while (next != null) {
            free--;
            all.add(next);
            next = free > 0 ? next(null) : null;
        }
        return all;
    }

    private void resize(int newCarried, int newLimit) {
        int before = total();
        carried = newCarried;
        limit = newLimit;
        free += total() - before;
    }

    private int total() {
        return Math.min(carried, limit);
    }

    /**
     * Adds a connection.
     *
     * @param busy its requests in flight
     * @param call tells the dispatcher that a slot is reserved for the connection; any thread
     */
    synchronized Share join(int busy, Runnable call) {
        Share share = new Share(call);
        free -= busy;
        hold(share, busy);
        return share;
    }

    private synchronized boolean take(Share share, boolean callable) {
        long now = nanoTime.getAsLong();
        while (!called.isEmpty() && called.getFirst().untilNanos - now < 0) {
            called.removeFirst();
            free++;
        }
        boolean reserved = called.remove(share);
        if (!reserved && free <= 0) {
            if (callable) {
                await(share, now);
            }
            return false;
        }
        hold(share, 1);
        if (reserved) {
            await(share, now);
        } else {
            free--;
            waiting.remove(share);
        }
        return true;
    }

    private void await(Share share, long now) {
        share.untilNanos = now + WAITING_NANOS;
        if (!waiting.contains(share)) {
            waiting.addLast(share);
        }
    }

    /** Returns the connection that the slot is now reserved for, or null if it is free. */
    private synchronized @Nullable Share give(Share share) {
        hold(share, -1);
        Share next = waiting.isEmpty() || free < 0 ? null : next(share);
        if (next == null) {
            free++;
        }
        return next;
    }

    /** @param giver knows without a call that it may use the slot again; {@code null} = none */
    private @Nullable Share next(@Nullable Share giver) {
        long now = nanoTime.getAsLong();
        waiting.removeIf(share -> share.untilNanos - now < 0);
        Set<Share> all = new HashSet<>(holders);
        all.addAll(waiting);
        for (Share share : waiting) {
            boolean wanting = share != giver && !called.contains(share);
            if (wanting && share.held < Math.max(1, total() / all.size())) {
                waiting.remove(share);
                share.untilNanos = now + RESERVED_NANOS;
                called.addLast(share);
                return share;
            }
        }
        return null;
    }

    private synchronized void forget(Share share) {
        waiting.remove(share);
        if (called.remove(share)) {
            free++;
        }
    }

    private void hold(Share share, int change) {
        share.held += change;
        if (share.held == 0) {
            holders.remove(share);
        } else if (share.held == change) {
            holders.add(share);
        }
    }
}
