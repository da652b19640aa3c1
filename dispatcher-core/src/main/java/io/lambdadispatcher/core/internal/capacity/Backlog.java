package io.lambdadispatcher.core.internal.capacity;

import java.util.concurrent.TimeUnit;

/**
 * Calculates how many worker streams the queued requests need. Requests that arrived together with
 * the first one, within a moment, should be served together, so each counts as one stream. Requests
 * that were queued later, while workers were starting, count as the streams that serve them within
 * a second, because each stream serves several of them in turn.
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

    /** @param meanServiceNanos 0 if unknown; then each request counts as one stream */
    double streams(double meanServiceNanos) {
        int first = Math.min(pending, together);
        double worth = meanServiceNanos == 0 ? 1 : Math.min(1, meanServiceNanos / CLEARED_WITHIN_NANOS);
        return first + (pending - first) * worth;
    }
}
