package io.lambdadispatcher.core.internal.capacity.simulate;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Virtual time: runs events in the order of their nanoseconds. Events of the same moment run in the
 * order in which they were added, so that a run can be repeated. It is a binary heap in parallel
 * arrays, with O(log n) operations.
 *
 * <p><i>Threading:</i> one thread.
 */
final class EventQueue {
    private long[] nanos = new long[1024];
    private long[] orders = new long[1024];
    private @Nullable Runnable[] events = new Runnable[1024];
    private int size;
    private long nextOrder;
    private long nowNanos;

    long nowNanos() {
        return nowNanos;
    }

    int size() {
        return size;
    }

    /** Adds an event. A time in the past means now. */
    void at(long whenNanos, Runnable event) {
        if (size == nanos.length) {
            nanos = Arrays.copyOf(nanos, size * 2);
            orders = Arrays.copyOf(orders, size * 2);
            events = Arrays.copyOf(events, size * 2);
        }
        rise(size++, Math.max(nowNanos, whenNanos), nextOrder++, event);
    }

    void after(long delayNanos, Runnable event) {
        at(nowNanos + delayNanos, event);
    }

    /**
     * Runs all events until {@code untilNanos}, including the events that they add. Afterwards,
     * {@code nowNanos} is {@code untilNanos}.
     */
    void runUntil(long untilNanos) {
        while (size > 0 && nanos[0] <= untilNanos) {
            nowNanos = nanos[0];
            poll().run();
        }
        nowNanos = untilNanos;
    }

    private Runnable poll() {
        Runnable first = events[0];
        size--;
        long lastNanos = nanos[size];
        long lastOrder = orders[size];
        Runnable last = events[size];
        events[size] = null;
        if (size > 0 && last != null) {
            sink(lastNanos, lastOrder, last);
        }
        if (first == null) {
            throw new IllegalStateException("no event to run, expected one or more");
        }
        return first;
    }

    private void rise(int from, long when, long order, Runnable event) {
        int index = from;
        while (index > 0) {
            int parent = (index - 1) >>> 1;
            if (isBefore(nanos[parent], orders[parent], when, order)) {
                break;
            }
            move(parent, index);
            index = parent;
        }
        set(index, when, order, event);
    }

    private void sink(long when, long order, Runnable event) {
        int index = 0;
        while (2 * index + 1 < size) {
            int child = 2 * index + 1;
            if (child + 1 < size && isBefore(nanos[child + 1], orders[child + 1], nanos[child], orders[child])) {
                child++;
            }
            if (isBefore(when, order, nanos[child], orders[child])) {
                break;
            }
            move(child, index);
            index = child;
        }
        set(index, when, order, event);
    }

    private static boolean isBefore(long nanos, long order, long otherNanos, long otherOrder) {
        return nanos < otherNanos || nanos == otherNanos && order < otherOrder;
    }

    private void move(int from, int to) {
        nanos[to] = nanos[from];
        orders[to] = orders[from];
        events[to] = events[from];
    }

    private void set(int index, long when, long order, Runnable event) {
        nanos[index] = when;
        orders[index] = order;
        events[index] = event;
    }
}
