package io.lambdadispatcher.core.internal.worker;

import java.util.concurrent.TimeUnit;

/**
 * Counts events of a peer in windows of ten seconds, to detect a flood. Confined to one event loop.
 */
final class EventRate {
    private static final long WINDOW_NANOS = TimeUnit.SECONDS.toNanos(10);

    private boolean started;
    private long windowNanos;
    private int count;

    /**
     * Counts one event.
     *
     * @return true once per window, for the first event beyond the limit
     */
    boolean exceeds(long nowNanos, int limit) {
        if (!started || nowNanos - windowNanos >= WINDOW_NANOS) {
            started = true;
            windowNanos = nowNanos;
            count = 0;
        }
        return ++count == limit + 1;
    }
}
