package io.lambdadispatcher.core.internal.capacity;

import java.util.concurrent.TimeUnit;

/**
 * Calculates how many worker streams the queued requests need. Requests that arrived within 100 ms
 * of the first one are a burst, and count one stream each. Requests that arrived later, while
 * workers were starting, count only as many streams as serve them within a second, because each
 * stream can serve several of them.
 */
final class Backlog {
    private static final long TOGETHER_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final double CLEARED_WITHIN_NANOS = TimeUnit.SECONDS.toNanos(1);

    private boolean waiting;
    private long sinceNanos;
    private int pending;
    private int together;

    void onSample(long nowNanos, int pendingNow) {
        pending = pendingNow;
        if (pendingNow == 0) {
            waiting = false;
            return;
        }
        if (!waiting) {
            waiting = true;
            sinceNanos = nowNanos;
            together = 0;
        }
        if (nowNanos - sinceNanos <= TOGETHER_NANOS) {
            together = Math.max(together, pendingNow);
        }
    }

    /**
     * Returns the streams needed.
     *
     * @param meanServiceNanos 0 = unknown: each request counts one stream
     */
    double streams(double meanServiceNanos) {
        int first = Math.min(pending, together);
        double worth = meanServiceNanos == 0 ? 1 : Math.min(1, meanServiceNanos / CLEARED_WITHIN_NANOS);
        return first + (pending - first) * worth;
    }
}
