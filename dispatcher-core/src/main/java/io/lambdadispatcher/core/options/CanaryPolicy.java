package io.lambdadispatcher.core.options;

import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * Gives a rising share of a function's requests to another function, its canary. The share returns
 * to zero if the canary answers with 5xx more often, or is slower. Immutable.
 *
 * <p>The canary serves with its own policy and its own limits. If the function has an affinity of
 * {@link Affinity.Kind#HEADER} or {@link Affinity.Kind#COOKIE}, requests with the same key stay on
 * one side while the share rises. Otherwise, each request is drawn.
 *
 * @param function the name of the canary; empty for {@link #NONE}. If there is no such function, it
 *     gets no requests
 * @param steps shares of the requests in percent, each larger than the one before
 * @param stepTime how long a share is watched before the next one, more than 0, at most 366 days. A
 *     step also lasts until the canary has answered 50 requests
 */
public record CanaryPolicy(String function, List<Integer> steps, Duration stepTime) {
    /** There is no canary. */
    public static final CanaryPolicy NONE = new CanaryPolicy("", List.of(100), Duration.ofMinutes(5));

    /**
     * Validates the steps.
     *
     * @throws IllegalArgumentException if the steps are not in ascending order or not between 1 and
     *     100, or if the time is not more than 0, at most 366 days
     */
    public CanaryPolicy {
        Objects.requireNonNull(function, "function");
        steps = List.copyOf(steps);
        Check.that(areAscending(steps), "steps", steps.toString(), "shares from 1 to 100 in ascending order");
        Check.positive("stepTime", stepTime);
    }

    /** Steps of 10, 50 and 100 percent, five minutes each. */
    public static CanaryPolicy of(String function) {
        return new CanaryPolicy(function, List.of(10, 50, 100), Duration.ofMinutes(5));
    }

    private static boolean areAscending(List<Integer> steps) {
        int before = 0;
        for (int step : steps) {
            if (step <= before || step > 100) {
                return false;
            }
            before = step;
        }
        return before > 0;
    }

    /** Returns whether there is no canary. */
    public boolean isOff() {
        return function.isEmpty();
    }
}
