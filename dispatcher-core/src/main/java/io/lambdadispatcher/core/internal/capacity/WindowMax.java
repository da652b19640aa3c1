package io.lambdadispatcher.core.internal.capacity;

import java.util.ArrayDeque;

/** The largest value of the last so many nanoseconds, in amortised O(1). */
final class WindowMax {
    private record Entry(long nanos, int value) {}

    private final long windowNanos;
    private final ArrayDeque<Entry> falling = new ArrayDeque<>();

    WindowMax(long windowNanos) {
        this.windowNanos = windowNanos;
    }

    /** @return the largest, this one included */
    int add(long nowNanos, int value) {
        while (!falling.isEmpty() && falling.peekLast().value <= value) {
            falling.pollLast();
        }
        falling.addLast(new Entry(nowNanos, value));
        // Values between two samples are taken to last until the second one.
        while (nowNanos - falling.getFirst().nanos > windowNanos) {
            falling.pollFirst();
        }
        return falling.getFirst().value;
    }
}
