package io.lambdadispatcher.core.internal.fleet;

import java.util.PriorityQueue;

/** Events of a simulation in the order of their virtual time. */
final class VirtualTime {
    /** A time in 2026. It is not 0, so that a mixed-up clock shows. */
    static final long EPOCH_MILLIS = 1_790_000_000_123L;

    private record Event(long nanos, long number, Runnable action) {}

    private final PriorityQueue<Event> events = new PriorityQueue<>(
            (a, b) -> a.nanos != b.nanos ? Long.compare(a.nanos, b.nanos) : Long.compare(a.number, b.number));
    private long nanos;
    private long number;

    long nanos() {
        return nanos;
    }

    long millis() {
        return EPOCH_MILLIS + nanos / 1_000_000;
    }

    void after(long delayNanos, Runnable action) {
        events.add(new Event(nanos + Math.max(0, delayNanos), number++, action));
    }

    void runUntil(long untilNanos) {
        while (!events.isEmpty() && events.peek().nanos <= untilNanos) {
            Event next = events.poll();
            nanos = next.nanos;
            next.action.run();
        }
        nanos = untilNanos;
    }
}
