package io.lambdadispatcher.core.observe;

import java.util.List;
import java.util.Objects;

/**
 * The state of a function that must survive a restart: recent launches, recent spending, the kill
 * switch, and the version of its workers. Otherwise, launch limits would start from zero, a
 * function that was switched off would launch workers again, and a version that has failed would be
 * tried again. Immutable.
 *
 * <pre>{@code
 * List<LaunchHistory> history = previous.launchHistory();
 * DispatcherBuilder builder = Dispatcher.builder().launchHistory(Instant.now(), history);
 * }</pre>
 *
 * @param function the name of the function
 * @param launching {@code false} if launching is switched off, see {@code Dispatcher.setLaunching}
 * @param launchesInLastMinute number of launches in the last 60 s, 0 or more
 * @param gbSecondsByMinute GB-seconds of each minute of the last hour, the current minute first.
 *     Each is 0 or more, and the list is copied
 * @param rollout which version the workers have, and the state of the change to another one; for
 *     this library only. Empty = not known
 */
public record LaunchHistory(
        String function, boolean launching, int launchesInLastMinute, List<Double> gbSecondsByMinute, String rollout) {

    /**
     * Validates the components.
     *
     * @throws IllegalArgumentException if a number is negative or not finite
     */
    public LaunchHistory {
        Objects.requireNonNull(function, "function");
        Objects.requireNonNull(rollout, "rollout");
        gbSecondsByMinute = List.copyOf(gbSecondsByMinute);
        for (double gbSeconds : gbSecondsByMinute) {
            if (!(gbSeconds >= 0 && gbSeconds < Double.POSITIVE_INFINITY)) {
                throw new IllegalArgumentException("gbSecondsByMinute: " + gbSeconds + ", expected 0 or more");
            }
        }
        if (launchesInLastMinute < 0) {
            throw new IllegalArgumentException(
                    "launchesInLastMinute: " + launchesInLastMinute + ", expected 0 or more");
        }
    }
}
