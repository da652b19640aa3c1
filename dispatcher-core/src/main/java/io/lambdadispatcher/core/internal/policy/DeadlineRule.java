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
     * the queue has cost it more than half of its time, and less is left than 19 of 20 responses
     * need.
     *
     * @param budgetNanos time of the request from its arrival
     * @param waitedNanos time since its arrival
     * @param usualNanos time in which 19 of 20 responses begin; 0 = not known
     */
    public static boolean isHopeless(long budgetNanos, long waitedNanos, long usualNanos) {
        long leftNanos = budgetNanos - waitedNanos;
        return leftNanos <= 0 || waitedNanos > leftNanos && leftNanos < usualNanos;
    }
}
