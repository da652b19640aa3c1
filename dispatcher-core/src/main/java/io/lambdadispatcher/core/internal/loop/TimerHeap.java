package io.lambdadispatcher.core.internal.loop;

import io.netty.channel.EventLoop;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Timers with different times. Setting, moving and cancelling are O(log n), and O(1) for the latest
 * timer. One timer of the event loop serves all of them. Use {@link DeadlineQueue} if all have the
 * same timeout. Confined to the event loop.
 */
public final class TimerHeap<T extends TimerHeap.Timer> {
    private static final int NOT_SET = -1;

    /** A timer, which can be in one heap. */
    public abstract static class Timer {
        private long dueNanos;
        private int index = NOT_SET;
    }

    /** Receives the timers that are due, after their removal. */
    @FunctionalInterface
    public interface Listener<T> {
        /** @param nowNanos the time of the event loop's ticker */
        void onDue(T timer, long nowNanos);
    }

    private final EventLoop loop;
    private final Listener<T> listener;
    private final Runnable onTimer = this::onTimer;

    // A binary heap: the children of the timer at i are at 2i + 1 and 2i + 2.
    private @Nullable Timer[] heap = new Timer[16];
    private int size;
    private boolean timerSet;
    private long timerNanos;

    public TimerHeap(EventLoop loop, Listener<T> listener) {
        this.loop = loop;
        this.listener = listener;
    }

    public int size() {
        return size;
    }

    /**
     * Sets or moves a timer.
     *
     * @param dueNanos time of the event loop's ticker; can be in the past
     */
    public void set(T timer, long dueNanos) {
        Timer node = timer;
        long before = node.dueNanos;
        node.dueNanos = dueNanos;
        if (node.index == NOT_SET) {
            if (size == heap.length) {
                heap = Arrays.copyOf(heap, 2 * size);
            }
            moveUp(size++, node);
        } else if (dueNanos - before < 0) {
            moveUp(node.index, node);
        } else {
            moveDown(node.index, node);
        }
        setTimer(dueNanos);
    }

    /** Cancels a timer. Has no effect if it is not set. */
    public void cancel(T timer) {
        removeAt(((Timer) timer).index);
    }

    private void removeAt(int index) {
        if (index == NOT_SET) {
            return;
        }
        Timer removed = at(index);
        Timer last = at(--size);
        heap[size] = null;
        if (removed != last) {
            if (last.dueNanos - removed.dueNanos < 0) {
                moveUp(index, last);
            } else {
                moveDown(index, last);
            }
        }
        removed.index = NOT_SET;
    }

    private void moveUp(int from, Timer timer) {
        int index = from;
        while (index > 0) {
            int parent = (index - 1) / 2;
            Timer above = at(parent);
            if (timer.dueNanos - above.dueNanos >= 0) {
                break;
            }
            put(index, above);
            index = parent;
        }
        put(index, timer);
    }

    private void moveDown(int from, Timer timer) {
        int index = from;
        for (int child = 2 * index + 1; child < size; child = 2 * index + 1) {
            if (child + 1 < size && at(child + 1).dueNanos - at(child).dueNanos < 0) {
                child++;
            }
            Timer below = at(child);
            if (below.dueNanos - timer.dueNanos >= 0) {
                break;
            }
            put(index, below);
            index = child;
        }
        put(index, timer);
    }

    private void put(int index, Timer timer) {
        heap[index] = timer;
        timer.index = index;
    }

    private Timer at(int index) {
        Timer timer = heap[index];
        if (timer == null) {
            throw new IllegalStateException("no timer at " + index + " of " + size);
        }
        return timer;
    }

    // As in DeadlineQueue: a timer of the loop is not cancelled, but serves the first timer here.
    private void setTimer(long dueNanos) {
        if (!timerSet || dueNanos - timerNanos < 0) {
            timerSet = true;
            timerNanos = dueNanos;
            long delayNanos = Math.max(0, dueNanos - loop.ticker().nanoTime());
            loop.schedule(onTimer, delayNanos, TimeUnit.NANOSECONDS);
        }
    }

    @SuppressWarnings("unchecked") // only set() puts timers in
    private void onTimer() {
        long now = loop.ticker().nanoTime();
        if (timerSet && now - timerNanos < 0) {
            return;
        }
        timerSet = false;
        // A listener can set a timer that is due already. It is served in the next turn.
        try {
            for (int left = size; left > 0 && size > 0 && at(0).dueNanos - now <= 0; left--) {
                Timer due = at(0);
                removeAt(0);
                listener.onDue((T) due, now);
            }
        } finally {
            // After an exception, the other timers are served in the next turn.
            if (size > 0) {
                setTimer(at(0).dueNanos);
            }
        }
    }
}
