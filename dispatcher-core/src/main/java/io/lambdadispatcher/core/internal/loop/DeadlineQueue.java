package io.lambdadispatcher.core.internal.loop;

import io.netty.channel.EventLoop;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A queue in order of age. All entries have the same timeout, so the oldest entry is always the
 * next to expire. Adding the youngest entry, removing any entry and expiring are O(1). One timer of
 * the event loop serves all entries. Confined to that event loop.
 */
public final class DeadlineQueue<E extends DeadlineQueue.Entry> {

    /** An entry, which can be in one queue at a time. */
    public abstract static class Entry {
        private @Nullable Entry previous;
        private @Nullable Entry next;
        private @Nullable DeadlineQueue<?> queue;
        private long deadlineNanos;
    }

    private final EventLoop loop;
    private final long timeoutNanos;
    private final Consumer<E> onExpired;
    private final Runnable onTimer = this::onTimer;

    private @Nullable Entry first;
    private @Nullable Entry last;
    private int size;
    private boolean timerSet;
    private long timerNanos;

    /**
     * Creates a queue.
     *
     * @param timeoutNanos 0 = entries never expire
     * @param onExpired receives each expired entry after its removal
     */
    public DeadlineQueue(EventLoop loop, long timeoutNanos, Consumer<E> onExpired) {
        this.loop = loop;
        this.timeoutNanos = timeoutNanos;
        this.onExpired = onExpired;
    }

    public int size() {
        return size;
    }

    /**
     * Adds an entry in order of age. This takes one step if the entry is the youngest, as usual.
     * Otherwise, it takes one step for each older entry.
     *
     * @param startNanos when the entry's timeout begins, by the event loop's ticker
     */
    public void add(E entry, long startNanos) {
        Entry node = entry;
        assert node.queue == null : "entry is in a queue already";
        node.queue = this;
        node.deadlineNanos = startNanos + timeoutNanos;
        linkBefore(youngerThan(node), node);
        size++;
        if (timeoutNanos > 0) {
            setTimer(node.deadlineNanos);
        }
    }

    private @Nullable Entry youngerThan(Entry node) {
        if (last == null || last.deadlineNanos - node.deadlineNanos <= 0) {
            return null;
        }
        Entry younger = first;
        while (younger != null && younger.deadlineNanos - node.deadlineNanos <= 0) {
            younger = younger.next;
        }
        return younger;
    }

    /**
     * Inserts the node.
     *
     * @param younger the entry that follows it; {@code null} = insert at the end
     */
    private void linkBefore(@Nullable Entry younger, Entry node) {
        Entry older = younger == null ? last : younger.previous;
        node.previous = older;
        node.next = younger;
        if (older == null) {
            first = node;
        } else {
            older.next = node;
        }
        if (younger == null) {
            last = node;
        } else {
            younger.previous = node;
        }
    }

    /** Returns the oldest entry, or {@code null}. Does not remove it. */
    @SuppressWarnings("unchecked") // only add() puts entries in
    public @Nullable E peek() {
        return (E) first;
    }

    /** Passes each entry to {@code action}, oldest first. The action must not change the queue. */
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

    /** Removes and returns the oldest entry, or {@code null}. */
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
        if (next == null) {
            last = previous;
        } else {
            next.previous = previous;
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
        while (first != null && first.deadlineNanos - now <= 0) {
            E expired = poll();
            if (expired != null) {
                onExpired.accept(expired);
            }
        }
        if (first != null) {
            setTimer(first.deadlineNanos);
        }
    }
}
