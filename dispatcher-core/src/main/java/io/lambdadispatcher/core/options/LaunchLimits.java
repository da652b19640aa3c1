package io.lambdadispatcher.core.options;

import java.time.Duration;

/**
 * What keeps the launching of workers from getting out of hand.
 *
 * @param launchesPerMinute in any 60 seconds, failed ones included; 1 or more
 * @param gbSecondsPerHour memory of workers times their life time, in any hour; 0 = no ceiling. As the ceiling comes near, workers
 *     are given up, in the end all of them
 * @param workerMegabytes memory of one worker, for that arithmetic
 * @param noShowAfter a worker that has not dialled in so long after its launch has failed
 */
public record LaunchLimits(int launchesPerMinute, double gbSecondsPerHour, int workerMegabytes, Duration noShowAfter) {

    public LaunchLimits {
        require(launchesPerMinute >= 1, "launchesPerMinute", launchesPerMinute, "1 or more");
        require(gbSecondsPerHour >= 0, "gbSecondsPerHour", gbSecondsPerHour, "0 (no ceiling) or more");
        require(workerMegabytes >= 1, "workerMegabytes", workerMegabytes, "1 or more");
        require(!noShowAfter.isNegative() && !noShowAfter.isZero(), "noShowAfter", noShowAfter, "more than 0");
    }

    /** 300 launches a minute, no ceiling on spending, workers of 512 MB that dial in within 30 s. */
    public static LaunchLimits defaults() {
        return new LaunchLimits(300, 0, 512, Duration.ofSeconds(30));
    }

    public LaunchLimits withLaunchesPerMinute(int value) {
        return new LaunchLimits(value, gbSecondsPerHour, workerMegabytes, noShowAfter);
    }

    public LaunchLimits withSpending(double gbSecondsAnHour, int megabytesPerWorker) {
        return new LaunchLimits(launchesPerMinute, gbSecondsAnHour, megabytesPerWorker, noShowAfter);
    }

    public LaunchLimits withNoShowAfter(Duration value) {
        return new LaunchLimits(launchesPerMinute, gbSecondsPerHour, workerMegabytes, value);
    }

    private static void require(boolean holds, String what, Object value, String expected) {
        if (!holds) {
            throw new IllegalArgumentException(what + ": " + value + ", expected " + expected);
        }
    }
}
