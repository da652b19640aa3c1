package io.lambdadispatcher.core.internal.capacity.simulate;

import org.HdrHistogram.Histogram;

/** What became of the requests of one path, and what it cost. */
final class SimulationTally {
    private static final long HIGHEST_NANOS = 3_600_000_000_000L;

    /** From arrival to the last byte, of those answered. */
    final Histogram latency = new Histogram(HIGHEST_NANOS, 3);
    /** From arrival until somebody served it, of those served. */
    final Histogram wait = new Histogram(HIGHEST_NANOS, 3);

    long arrived;
    long answered;
    /** Nowhere to wait. */
    long refused;
    /** Waited for too long. */
    long expired;
    /** In flight when their worker ended. */
    long cut;

    long firstNanos = -1;
    long lastEndNanos;

    long launches;
    long launchFailures;
    long launchThrottles;
    double gbSeconds;
    /** For which a request price is paid. */
    long invokes;

    void onArrival(long nowNanos) {
        arrived++;
        if (firstNanos < 0) {
            firstNanos = nowNanos;
        }
    }

    void onServed(long waitedNanos) {
        wait.recordValue(Math.min(HIGHEST_NANOS, waitedNanos));
    }

    void onAnswer(long nowNanos, long tookNanos) {
        answered++;
        lastEndNanos = nowNanos;
        latency.recordValue(Math.min(HIGHEST_NANOS, tookNanos));
    }

    /** Requests that have not come to an end. */
    long left() {
        return arrived - answered - refused - expired - cut;
    }

    double answersPerSecond() {
        return answered == 0 ? 0 : answered / ((lastEndNanos - firstNanos) / 1e9);
    }
}
