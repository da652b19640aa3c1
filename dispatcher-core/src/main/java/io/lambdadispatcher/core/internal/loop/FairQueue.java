package io.lambdadispatcher.core.internal.loop;

import io.netty.channel.EventLoop;
import java.util.Arrays;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A queue that serves the lowest tag first, and equal tags in the order in which their tickets were
 * created. All entries have the same timeout, unless it was changed.
 *
 * <p>Adding, removing any ticket and polling are O(log n).
 *
 * <p><b>Threading.</b> Confined to one event loop, except {@link #headTag}, {@link #headSinceNanos}
 * and {@link #hide}.
 */
public final class FairQueue<E> {
    /** The tag of the head of an empty queue. */
    public static final long EMPTY = Long.MAX_VALUE;

    private static final int NOT_QUEUED = -1;

    /**
     * An entry's position in the queue. A ticket can be added again after it was removed, and then
     * has the same position.
     */
    public static final class Ticket<E> extends DeadlineQueue.Entry {
        public final E entry;
        public final long tag;
        private final long order;
        private final long sinceNanos;
        private int index = NOT_QUEUED;

        private Ticket(E entry, long tag, long order, long sinceNanos) {
            this.entry = entry;
            this.tag = tag;
            this.order = order;
            this.sinceNanos = sinceNanos;
        }

        /** Returns when the ticket's timeout begins. */
        public long sinceNanos() {
            return sinceNanos;
        }

        private boolean isBefore(Ticket<?> other) {
            return tag < other.tag || tag == other.tag && order < other.order;
        }
    }

    private final DeadlineQueue<Ticket<E>> byAge;

    // A binary heap: the children of the ticket at i are at 2i + 1 and 2i + 2.
    private @Nullable Ticket<E>[] heap = newHeap(16);
    private int size;
    private long orders;

    // The head, for other event loops. The two fields are not read atomically, so callers must
    // tolerate values of two different heads.
    private volatile long headTag = EMPTY;
    private volatile long headSinceNanos;

    /**
     * @param timeoutNanos 0 = entries never expire
     * @param onExpired receives each expired ticket after its removal
     */
    public FairQueue(EventLoop loop, long timeoutNanos, Consumer<Ticket<E>> onExpired) {
        byAge = new DeadlineQueue<>(loop, timeoutNanos, expired -> {
            removeAt(expired.index);
            onExpired.accept(expired);
        });
    }

    @SuppressWarnings("unchecked") // an array of tickets of no type in particular
    private static <E> @Nullable Ticket<E>[] newHeap(int length) {
        return (Ticket<E>[]) new Ticket<?>[length];
    }

    /**
     * Changes the timeout of tickets that are added from now on.
     *
     * @param nanos 0 = they never expire
     */
    public void setTimeout(long nanos) {
        byAge.setTimeout(nanos);
    }

    public int size() {
        return size;
    }

    /** Returns the tag of the head, or {@link #EMPTY}. Any thread. */
    public long headTag() {
        return headTag;
    }

    /** Returns when the timeout of the head began, if there is a head. Any thread. */
    public long headSinceNanos() {
        return headSinceNanos;
    }

    /**
     * Makes the queue look empty to other threads, because its event loop has ended. Any thread.
     */
    public void hide() {
        headTag = EMPTY;
    }

    /**
     * Creates a ticket without adding it.
     *
     * @param sinceNanos when its timeout begins
     */
    public Ticket<E> newTicket(E entry, long tag, long sinceNanos) {
        return new Ticket<>(entry, tag, orders++, sinceNanos);
    }

    /** Adds a ticket that this queue created and that is not queued. */
    public void add(Ticket<E> ticket) {
        assert ticket.index == NOT_QUEUED : "ticket is queued already";
        byAge.add(ticket, ticket.sinceNanos);
        if (size == heap.length) {
            heap = Arrays.copyOf(heap, 2 * size);
        }
        moveUp(size++, ticket);
        publishHead();
    }

    /** Returns the ticket with the lowest tag, or {@code null}. Does not remove it. */
    public @Nullable Ticket<E> peek() {
        return heap[0];
    }

    /** Passes the entries that wait longest to {@code action}, which must not change the queue. */
    public void forOldest(int limit, Consumer<? super E> action) {
        byAge.forOldest(limit, ticket -> action.accept(ticket.entry));
    }

    /** Removes and returns the ticket with the lowest tag, or {@code null}. */
    public @Nullable Ticket<E> poll() {
        Ticket<E> head = heap[0];
        if (head != null) {
            byAge.remove(head);
            removeAt(0);
        }
        return head;
    }

    /** @return false if the ticket is {@code null} or not queued */
    public boolean contains(@Nullable Ticket<E> ticket) {
        return ticket != null && byAge.contains(ticket);
    }

    /** @return false if the ticket is {@code null} or not queued */
    public boolean remove(@Nullable Ticket<E> ticket) {
        if (ticket == null || !byAge.remove(ticket)) {
            return false;
        }
        removeAt(ticket.index);
        return true;
    }

    private void removeAt(int index) {
        Ticket<E> removed = at(index);
        Ticket<E> last = at(--size);
        heap[size] = null;
        if (removed != last) {
            int parent = (index - 1) / 2;
            if (index > 0 && last.isBefore(at(parent))) {
                moveUp(index, last);
            } else {
                moveDown(index, last);
            }
        }
        removed.index = NOT_QUEUED;
        publishHead();
    }

    private void moveUp(int from, Ticket<E> ticket) {
        int index = from;
        while (index > 0) {
            int parent = (index - 1) / 2;
            Ticket<E> above = at(parent);
            if (!ticket.isBefore(above)) {
                break;
            }
            put(index, above);
            index = parent;
        }
        put(index, ticket);
    }

    private void moveDown(int from, Ticket<E> ticket) {
        int index = from;
        for (int child = 2 * index + 1; child < size; child = 2 * index + 1) {
            if (child + 1 < size && at(child + 1).isBefore(at(child))) {
                child++;
            }
            Ticket<E> below = at(child);
            if (!below.isBefore(ticket)) {
                break;
            }
            put(index, below);
            index = child;
        }
        put(index, ticket);
    }

    private void put(int index, Ticket<E> ticket) {
        heap[index] = ticket;
        ticket.index = index;
    }

    private Ticket<E> at(int index) {
        Ticket<E> ticket = heap[index];
        if (ticket == null) {
            throw new IllegalStateException("no ticket at " + index + " of " + size);
        }
        return ticket;
    }

    private void publishHead() {
        Ticket<E> head = heap[0];
        if (head == null) {
            headTag = EMPTY;
        } else if (head.tag != headTag || head.sinceNanos != headSinceNanos) {
            headSinceNanos = head.sinceNanos;
            headTag = head.tag;
        }
    }
}
