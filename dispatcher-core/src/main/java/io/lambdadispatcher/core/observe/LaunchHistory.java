package io.lambdadispatcher.core.observe;

import java.util.List;
import java.util.Objects;

/**
 * What a dispatcher must remember of a function when it restarts: otherwise its limits on launches and spending begin at zero again, and
 * its kill switch is forgotten. Immutable.
 *
 * @param function the function's name
 * @param launching {@code false} if the kill switch holds launches back
 * @param launchesInLastMinute launches of the last 60 s
 * @param gbSecondsByMinute GB-seconds of each minute of the last hour, the current minute first, each 0 or more
 */
public record LaunchHistory(
        String function, boolean launching, int launchesInLastMinute, List<Double> gbSecondsByMinute) {

    /** @throws IllegalArgumentException if a number is negative or not finite */
    public LaunchHistory {
        Objects.requireNonNull(function, "function");
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
