package io.lambdadispatcher.core.internal.capacity.simulate;

import org.HdrHistogram.Histogram;

/** The results and the cost of the requests of one path. */
final class SimulationTally {
    private static final long HIGHEST_NANOS = 3_600_000_000_000L;

    /** Time from arrival to the last byte of answered requests. */
    final Histogram latency = new Histogram(HIGHEST_NANOS, 3);
    /** Time from arrival until the request was served, of served requests. */
    final Histogram wait = new Histogram(HIGHEST_NANOS, 3);

    /** The same without the requests that arrive when the traffic has just risen. */
    final Histogram calmWait = new Histogram(HIGHEST_NANOS, 3);
    /** Requests that a worker of the base got. */
    long servedByBase;

    long arrived;
    long answered;
    /** Requests that were refused because the queue was full. */
    long refused;
    /** Requests that timed out in the queue. */
    long expired;
    /** Requests that were in flight when their worker ended. */
    long cut;

    long firstNanos = -1;
    long lastEndNanos;

    long launches;
    /** Launches although the base has had room below its target for longer than a second. */
    long launchesWithRoom;

    long launchFailures;
    long launchThrottles;
    double gbSeconds;
    /** Invocations that cost the price of a request. */
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

    /** Returns the number of requests that have not ended. */
    long left() {
        return arrived - answered - refused - expired - cut;
    }

    double answersPerSecond() {
        return answered == 0 ? 0 : answered / ((lastEndNanos - firstNanos) / 1e9);
    }
}
