package io.lambdadispatcher.core.internal.loop;

import io.netty.channel.EventLoop;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A queue in order of deadlines. All entries have the same timeout, unless it was changed, so this
 * is the order of age. Adding the youngest entry, removing any entry and expiring are O(1). One
 * timer of the event loop serves all entries. Confined to that event loop.
 */
public final class DeadlineQueue<E extends DeadlineQueue.Entry> {

    /** An entry, which can be in one queue at a time. */
    public abstract static class Entry {
        private @Nullable Entry previous;
        private @Nullable Entry next;
        private @Nullable DeadlineQueue<?> queue;
        private long deadlineNanos;
    }

    /** The timeout of entries that never expire: more than 70 years. */
    private static final long NEVER_NANOS = Long.MAX_VALUE / 4;

    private final EventLoop loop;
    private final Consumer<E> onExpired;
    private final Runnable onTimer = this::onTimer;

    private long timeoutNanos;
    private @Nullable Entry first;

    /** The youngest entry, unless the timeout was changed. The next entry comes behind it. */
    private @Nullable Entry latest;

    private int size;
    private boolean timerSet;
    private long timerNanos;

    /**
     * @param timeoutNanos 0 = entries never expire
     * @param onExpired receives each expired entry after its removal
     */
    public DeadlineQueue(EventLoop loop, long timeoutNanos, Consumer<E> onExpired) {
        this.loop = loop;
        this.onExpired = onExpired;
        setTimeout(timeoutNanos);
    }

    /**
     * Changes the timeout of entries that are added from now on.
     *
     * @param nanos 0 = they never expire
     */
    public void setTimeout(long nanos) {
        timeoutNanos = nanos == 0 ? NEVER_NANOS : nanos;
        latest = null;
    }

    public int size() {
        return size;
    }

    /**
     * Adds an entry. This takes one step if the entry is the youngest, as usual. Otherwise, it
     * takes one step for each older entry.
     *
     * @param startNanos when the entry's timeout begins, by the event loop's ticker
     */
    public void add(E entry, long startNanos) {
        Entry node = entry;
        if (node.queue != null) {
            throw new IllegalStateException("entry is in a queue already");
        }
        node.queue = this;
        node.deadlineNanos = startNanos + timeoutNanos;
        linkAfter(earlierThan(node), node);
        size++;
        if (timeoutNanos != NEVER_NANOS) {
            setTimer(node.deadlineNanos);
        }
    }

    /** Returns the last entry that is not later than the node; {@code null} = there is none. */
    private @Nullable Entry earlierThan(Entry node) {
        Entry earlier = latest != null && latest.deadlineNanos - node.deadlineNanos <= 0 ? latest : null;
        Entry next = earlier == null ? first : earlier.next;
        while (next != null && next.deadlineNanos - node.deadlineNanos <= 0) {
            earlier = next;
            next = next.next;
        }
        return earlier;
    }

    /**
     * Inserts the node.
     *
     * @param earlier the entry that it follows; {@code null} = insert at the beginning
     */
    private void linkAfter(@Nullable Entry earlier, Entry node) {
        Entry next = earlier == null ? first : earlier.next;
        node.previous = earlier;
        node.next = next;
        if (earlier == null) {
            first = node;
        } else {
            earlier.next = node;
        }
        if (next != null) {
            next.previous = node;
        }
        if (latest == null || latest.deadlineNanos - node.deadlineNanos <= 0) {
            latest = node;
        }
    }

    /** Returns the entry that expires first, or {@code null}. Does not remove it. */
    @SuppressWarnings("unchecked") // only add() puts entries in
    public @Nullable E peek() {
        return (E) first;
    }

    /**
     * Passes each entry to {@code action}, in order of deadlines. The action must not change the
     * queue.
     */
    @SuppressWarnings("unchecked") // only add() puts entries in
    public void forEach(Consumer<? super E> action) {
        for (Entry entry = first; entry != null; entry = entry.next) {
            action.accept((E) entry);
        }
    }

    /** Passes the oldest entries to {@code action}, which must not change the queue. */
    @SuppressWarnings("unchecked") // only add() puts entries in
    public void forOldest(int limit, Consumer<? super E> action) {
        Entry entry = first;
        for (int i = 0; i < limit && entry != null; i++) {
            action.accept((E) entry);
            entry = entry.next;
        }
    }

    /** Removes and returns the entry that expires first, or {@code null}. */
    @SuppressWarnings("unchecked") // only add() puts entries in
    public @Nullable E poll() {
        Entry oldest = first;
        if (oldest != null) {
            unlink(oldest);
        }
        return (E) oldest;
    }

    public boolean contains(E entry) {
        return ((Entry) entry).queue == this;
    }

    /** @return false if the entry is not in this queue */
    public boolean remove(E entry) {
        if (((Entry) entry).queue != this) {
            return false;
        }
        unlink(entry);
        return true;
    }

    private void unlink(Entry node) {
        Entry previous = node.previous;
        Entry next = node.next;
        if (previous == null) {
            first = next;
        } else {
            previous.next = next;
        }
        if (next != null) {
            next.previous = previous;
        }
        if (latest == node) {
            latest = previous;
        }
        node.previous = null;
        node.next = null;
        node.queue = null;
        size--;
    }

    // Usually there is one timer. It is not cancelled when its entry is removed, but then serves
    // the oldest entry. If an earlier timer was set meanwhile, the later one does nothing:
    // otherwise, timers would multiply.
    private void setTimer(long dueNanos) {
        if (!timerSet || dueNanos - timerNanos < 0) {
            timerSet = true;
            timerNanos = dueNanos;
            long delayNanos = Math.max(0, dueNanos - loop.ticker().nanoTime());
            loop.schedule(onTimer, delayNanos, TimeUnit.NANOSECONDS);
        }
    }

    private void onTimer() {
        long now = loop.ticker().nanoTime();
        if (timerSet && now - timerNanos < 0) {
            return;
        }
        timerSet = false;
        try {
            while (first != null && first.deadlineNanos - now <= 0) {
                E expired = poll();
                if (expired != null) {
                    onExpired.accept(expired);
                }
            }
        } finally {
            // After an exception, the other entries expire in the next turn.
            if (first != null && first.deadlineNanos - now < NEVER_NANOS / 2) {
                setTimer(first.deadlineNanos);
            }
        }
    }
}
