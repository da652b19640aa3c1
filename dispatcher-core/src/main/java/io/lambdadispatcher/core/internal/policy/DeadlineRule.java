package io.lambdadispatcher.core.internal.policy;

/**
 * Decides whether a queued request with a deadline is still worth a worker.
 *
 * <p>Under overload, a queue of requests with deadlines grows until each request is served just
 * before its deadline, too late for its response. Then the workers do nothing but work that nobody
 * waits for. So a request must leave the queue while there is time to serve it. But a request that
 * was queued for a moment has a chance, even if its client waits only a short time.
 */
public final class DeadlineRule {
    private DeadlineRule() {}

    /**
     * Returns whether the request should fail now instead of being sent to a worker. This is so if
     * it was queued for longer than what is left, and less is left than 19 of 20 responses need.
     *
     * @param leftNanos time until the deadline
     * @param queuedNanos time in the queue, since the request arrived or its last attempt failed
     * @param usualNanos time in which 19 of 20 responses begin; 0 = not known
     */
    public static boolean isHopeless(long leftNanos, long queuedNanos, long usualNanos) {
        return leftNanos <= 0 || queuedNanos > leftNanos && leftNanos < usualNanos;
    }
}
