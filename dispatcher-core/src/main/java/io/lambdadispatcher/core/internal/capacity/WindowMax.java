package io.lambdadispatcher.core.internal.capacity;

import java.util.ArrayDeque;

/** Calculates the largest value of a sliding time window, in amortised O(1). */
final class WindowMax {
    private record Entry(long nanos, int value) {}

    private long windowNanos;
    private final ArrayDeque<Entry> falling = new ArrayDeque<>();

    WindowMax(long windowNanos) {
        this.windowNanos = windowNanos;
    }

    /** Changes the window. What a shorter window has dropped does not come back. */
    void setWindow(long nanos) {
        windowNanos = nanos;
    }

    /**
     * Adds a value.
     *
     * @return the largest value of the window, including this one
     */
    int add(long nowNanos, int value) {
        while (!falling.isEmpty() && falling.peekLast().value <= value) {
            falling.pollLast();
        }
        falling.addLast(new Entry(nowNanos, value));
        while (nowNanos - falling.getFirst().nanos > windowNanos) {
            falling.pollFirst();
        }
        return falling.getFirst().value;
    }
}
