package io.lambdadispatcher.core.options;

import java.time.Duration;

/**
 * How many workers a function should have.
 *
 * @param minWorkers kept always; 0 to 100,000
 * @param maxWorkers never more, those aside that replace expiring, sick and lost ones, at most as many again; 0 = the dispatcher launches
 *     none, workers come by themselves
 * @param warmWorkers ready beyond what the traffic needs, as long as there is traffic or {@code minWorkers} is above 0
 * @param headRoom what is kept free for the next moment's traffic, as a fraction of what is needed now; 0 to 10
 * @param idleAfter without any request for so long, only {@code minWorkers} are kept
 * @param scaleInAfter a worker is given up when there has been one too many for so long
 * @param warmEnvironments execution environments kept initialised beyond the workers, by init-only invokes now and then
 * @param maxWorkerLife a worker is replaced before it is older, even if its launcher would let it live; zero = no limit
 */
public record CapacityPolicy(
        int minWorkers,
        int maxWorkers,
        int warmWorkers,
        double headRoom,
        Duration idleAfter,
        Duration scaleInAfter,
        int warmEnvironments,
        Duration maxWorkerLife) {
    private static final int MOST = 100_000;

    /** Nobody is launched. */
    public static final CapacityPolicy NONE = between(0, 0);

    public CapacityPolicy {
        require(minWorkers >= 0 && minWorkers <= MOST, "minWorkers", minWorkers, "0 to " + MOST);
        require(
                maxWorkers >= minWorkers && maxWorkers <= MOST,
                "maxWorkers",
                maxWorkers,
                "minWorkers (" + minWorkers + ") to " + MOST);
        require(warmWorkers >= 0 && warmWorkers <= MOST, "warmWorkers", warmWorkers, "0 to " + MOST);
        require(headRoom >= 0 && headRoom <= 10, "headRoom", headRoom, "0 to 10");
        require(!idleAfter.isNegative(), "idleAfter", idleAfter, "0 or more");
        require(!scaleInAfter.isNegative(), "scaleInAfter", scaleInAfter, "0 or more");
        require(warmEnvironments >= 0 && warmEnvironments <= 1000, "warmEnvironments", warmEnvironments, "0 to 1000");
        require(!maxWorkerLife.isNegative(), "maxWorkerLife", maxWorkerLife, "0 (no limit) or more");
    }

    /** Always as many. */
    public static CapacityPolicy fixed(int workers) {
        return between(workers, workers);
    }

    /** As the traffic needs, with a quarter of head room; to the minimum after 5 minutes without requests, one fewer after a minute with too many. */
    public static CapacityPolicy between(int min, int max) {
        return new CapacityPolicy(min, max, 0, 0.25, Duration.ofMinutes(5), Duration.ofMinutes(1), 0, Duration.ZERO);
    }

    public CapacityPolicy withWarmWorkers(int value) {
        return new CapacityPolicy(
                minWorkers, maxWorkers, value, headRoom, idleAfter, scaleInAfter, warmEnvironments, maxWorkerLife);
    }

    public CapacityPolicy withHeadRoom(double value) {
        return new CapacityPolicy(
                minWorkers, maxWorkers, warmWorkers, value, idleAfter, scaleInAfter, warmEnvironments, maxWorkerLife);
    }

    public CapacityPolicy withScaleIn(Duration idle, Duration surplus) {
        return new CapacityPolicy(
                minWorkers, maxWorkers, warmWorkers, headRoom, idle, surplus, warmEnvironments, maxWorkerLife);
    }

    public CapacityPolicy withWarmEnvironments(int value) {
        return new CapacityPolicy(
                minWorkers, maxWorkers, warmWorkers, headRoom, idleAfter, scaleInAfter, value, maxWorkerLife);
    }

    private static void require(boolean holds, String what, Object value, String expected) {
        if (!holds) {
            throw new IllegalArgumentException(what + ": " + value + ", expected " + expected);
        }
    }
}
