package io.lambdadispatcher.core.options;

import java.time.Duration;
import java.util.List;

/**
 * How workers of a new version of a function replace those of the old one. At first, a few workers
 * of the new version serve beside the others, and more of them in each step. After the last step,
 * they replace all others, at most a quarter at a time.
 *
 * <p>The old version keeps serving if the workers of the new one fail to start, answer with 5xx or
 * not at all more often, or if their p99 until the first byte is at least twice as long and 10 ms
 * longer. A worker's first 30 s do not count for the p99. Immutable.
 *
 * <pre>{@code
 * LaunchLimits limits = LaunchLimits.builder()
 *         .rollout(new RolloutPolicy(List.of(5, 25, 50), Duration.ofMinutes(10)))
 *         .build();
 * }</pre>
 *
 * @param steps how many workers of the new version there are, in percent of the workers that the
 *     traffic needs, each step larger than the one before. The number is rounded down, but at least
 *     one. If it is empty, the dispatcher does not follow versions
 * @param stepTime how long each step lasts, more than 0, at most 366 days. A step also lasts until
 *     the new version has answered 50 requests
 */
public record RolloutPolicy(List<Integer> steps, Duration stepTime) {
    /** New workers have the version that the launcher chooses, and old workers keep theirs. */
    public static final RolloutPolicy OFF = new RolloutPolicy(List.of(), Duration.ofMinutes(2));

    /** One step of 10 percent, for two minutes. */
    public static final RolloutPolicy FAST = new RolloutPolicy(List.of(10), Duration.ofMinutes(2));

    /** Steps of 10 and 50 percent, for five minutes each. */
    public static final RolloutPolicy CAREFUL = new RolloutPolicy(List.of(10, 50), Duration.ofMinutes(5));

    /**
     * Validates the steps.
     *
     * @throws IllegalArgumentException if the steps are not in ascending order or not between 1 and
     *     100, or if the time is not more than 0, at most 366 days
     */
    public RolloutPolicy {
        steps = List.copyOf(steps);
        Check.that(areAscending(steps), "steps", steps.toString(), "shares from 1 to 100 in ascending order");
        Check.positive("stepTime", stepTime);
    }

    private static boolean areAscending(List<Integer> steps) {
        int before = 0;
        for (int step : steps) {
            if (step <= before || step > 100) {
                return false;
            }
            before = step;
        }
        return true;
    }

    /** Returns whether the dispatcher does not follow versions. */
    public boolean isOff() {
        return steps.isEmpty();
    }

    /** Returns the first step that is larger than a share in percent, or 0 if none is. */
    public int stepAfter(int percent) {
        return steps.stream().filter(step -> step > percent).findFirst().orElse(0);
    }
}
