package io.lambdadispatcher.core.internal.policy;

import io.lambdadispatcher.core.options.DeadlinePolicy;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Decides whether a queued request with a deadline is still worth a worker, and what is left of a
 * deadline.
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

    /**
     * Returns the deadline of a request that another policy applies to from now on. Both limits
     * count. The time in the client's headers is not in the result, because {@link
     * DeadlineHeaders#writeLeft} shortens it there.
     *
     * @param elapsedNanos time since {@code first} began to apply
     */
    public static DeadlinePolicy rest(DeadlinePolicy first, DeadlinePolicy next, long elapsedNanos) {
        long left = first.limit().isZero()
                ? Long.MAX_VALUE
                : Math.max(1, first.limit().toNanos() - elapsedNanos);
        long own = next.limit().isZero() ? Long.MAX_VALUE : next.limit().toNanos();
        long limit = Math.min(left, own);
        DeadlinePolicy.Builder rest =
                DeadlinePolicy.builder().limit(limit == Long.MAX_VALUE ? Duration.ZERO : Duration.ofNanos(limit));
        Set<CharSequence> names = new LinkedHashSet<>(first.headers());
        names.addAll(next.headers());
        names.forEach(name -> rest.header(name.toString()));
        return rest.build();
    }
}
