package io.lambdadispatcher.core.internal.capacity;

import java.util.ArrayDeque;

/** The maximum of the values of a recent window of time, in amortised O(1). */
final class WindowMax {
    private record Entry(long nanos, int value) {}

    private final long windowNanos;
    private final ArrayDeque<Entry> falling = new ArrayDeque<>();

    WindowMax(long windowNanos) {
        this.windowNanos = windowNanos;
    }

    /** @return the maximum, including this value */
    int add(long nowNanos, int value) {
        while (!falling.isEmpty() && falling.peekLast().value <= value) {
            falling.pollLast();
        }
        falling.addLast(new Entry(nowNanos, value));
        // A value counts until the sample after it.
        while (nowNanos - falling.getFirst().nanos > windowNanos) {
            falling.pollFirst();
        }
        return falling.getFirst().value;
    }
}
