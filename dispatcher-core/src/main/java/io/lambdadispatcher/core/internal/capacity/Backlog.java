package io.lambdadispatcher.core.internal.capacity;

import java.util.concurrent.TimeUnit;

/**
 * How many worker streams the requests that wait are worth. Those that came together, within a
 * moment of the first, want to be served together: one stream each. Those that have piled up since,
 * while workers were starting, are worth what serves them within a second of the workers' coming,
 * for most streams will have served many by then.
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

    /** @param meanServiceNanos 0 = not known: every request is worth a stream */
    double streams(double meanServiceNanos) {
        int first = Math.min(pending, together);
        double worth = meanServiceNanos == 0 ? 1 : Math.min(1, meanServiceNanos / CLEARED_WITHIN_NANOS);
        return first + (pending - first) * worth;
    }
}
