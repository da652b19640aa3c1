package io.lambdadispatcher.core.internal.loop;

import io.netty.channel.EventLoop;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A queue by age with the same timeout for every entry, so that the oldest is always the next to
 * expire. Adding a young entry, removing anywhere and expiring are O(1), and one timer of the event
 * loop serves all entries. Confined to that event loop.
 */
public final class DeadlineQueue<E extends DeadlineQueue.Entry> {

    /** What can wait; in one queue at a time. */
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
     * @param timeoutNanos 0 = entries never expire
     * @param onExpired is given each entry after its removal
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
     * Adds an entry in the place, and with the deadline, that its age asks for. One that is not
     * older than the youngest, as is usual, takes one step; any other takes a step for each entry
     * that is older.
     *
     * @param startNanos when its timeout begins, by the event loop's clock
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

    /** @param younger {@code null} = at the end */
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

    /** Returns the oldest entry, or {@code null}. It stays. */
    @SuppressWarnings("unchecked") // only add() puts entries in
    public @Nullable E peek() {
        return (E) first;
    }

    /** Gives each entry to {@code action}, which must not change the queue, the oldest first. */
    @SuppressWarnings("unchecked") // only add() puts entries in
    public void forEach(Consumer<? super E> action) {
        for (Entry entry = first; entry != null; entry = entry.next) {
            action.accept((E) entry);
        }
    }

    /** Removes the oldest entry, and returns it, or {@code null}. */
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

    // One timer as a rule. It is not cancelled when its entry goes, but looks at who is the oldest
    // then; one that was overtaken by an earlier one does nothing, or they would multiply.
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
