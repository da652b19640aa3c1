package io.lambdadispatcher.core.options;

import java.time.Duration;

/**
 * Limits on launching the workers of a function, and on what they cost. {@link Builder} states
 * units, defaults and ranges. Immutable.
 *
 * <pre>{@code
 * LaunchLimits limits = LaunchLimits.builder()
 *         .launchesPerMinute(60)
 *         .workerMegabytes(1024)
 *         .gbSecondsPerHour(36_000) // an average of 10 GB
 *         .build();
 * }</pre>
 *
 * <p>If launches fail, the dispatcher also pauses launching for an increasing time. That pause
 * cannot be configured.
 */
public final class LaunchLimits {
    private final int launchesPerMinute;
    private final double gbSecondsPerHour;
    private final int workerMegabytes;
    private final Duration launchTimeout;
    private final Duration versionCheck;
    private final double canaryShare;
    private final Duration canaryTime;

    private LaunchLimits(Builder from) {
        launchesPerMinute = from.launchesPerMinute;
        gbSecondsPerHour = from.gbSecondsPerHour;
        workerMegabytes = from.workerMegabytes;
        launchTimeout = from.launchTimeout;
        versionCheck = from.versionCheck;
        canaryShare = from.canaryShare;
        canaryTime = from.canaryTime;
        Check.atLeast("launchesPerMinute", launchesPerMinute, 1);
        Check.atLeast("gbSecondsPerHour", gbSecondsPerHour, 0);
        Check.atLeast("workerMegabytes", workerMegabytes, 1);
        Check.positive("launchTimeout", launchTimeout);
        Check.notNegative("versionCheck", versionCheck);
        Check.notNegative("canaryTime", canaryTime);
        Check.that(
                canaryShare > 0 && canaryShare <= 1,
                "canaryShare",
                Check.number(canaryShare),
                "more than 0, at most 1");
    }

    /** Starts limits with the defaults. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns the limits with the defaults of {@link Builder}. */
    public static LaunchLimits defaults() {
        return builder().build();
    }

    /** Returns the maximum number of launches in 60 s. See {@link Builder#launchesPerMinute}. */
    public int launchesPerMinute() {
        return launchesPerMinute;
    }

    /**
     * Returns the maximum GB-seconds in an hour, or 0 if there is no limit. See {@link
     * Builder#gbSecondsPerHour}.
     */
    public double gbSecondsPerHour() {
        return gbSecondsPerHour;
    }

    /** Returns the memory of one worker, in MB. See {@link Builder#workerMegabytes}. */
    public int workerMegabytes() {
        return workerMegabytes;
    }

    /**
     * Returns the time within which a launched worker must dial in. See {@link
     * Builder#launchTimeout}.
     */
    public Duration launchTimeout() {
        return launchTimeout;
    }

    /**
     * Returns how often the launcher is asked for the function's version, or zero if it is not. See
     * {@link Builder#versionCheck}.
     */
    public Duration versionCheck() {
        return versionCheck;
    }

    /**
     * Returns the share of workers that a new version gets at first. See {@link Builder#canary}.
     */
    public double canaryShare() {
        return canaryShare;
    }

    /** Returns how long a new version keeps this share. See {@link Builder#canary}. */
    public Duration canaryTime() {
        return canaryTime;
    }

    /**
     * Builds {@link LaunchLimits}. Setters accept any value, and {@link #build} validates them. Not
     * thread-safe.
     */
    public static final class Builder {
        private int launchesPerMinute = 300;
        private double gbSecondsPerHour;
        private int workerMegabytes = 512;
        private Duration launchTimeout = Duration.ofSeconds(30);
        private Duration versionCheck = Duration.ofSeconds(30);
        private double canaryShare = 0.1;
        private Duration canaryTime = Duration.ofMinutes(2);

        private Builder() {}

        /**
         * Sets the maximum number of launches in any 60 s, failed ones included. Default: 300.
         *
         * @param launches 1 or more
         */
        public Builder launchesPerMinute(int launches) {
            launchesPerMinute = launches;
            return this;
        }

        /**
         * Sets the maximum memory multiplied by running time in any hour. Launched workers and
         * direct invocations count. Near the limit, the dispatcher retires workers, finally all of
         * them. At the limit, queued requests no longer become direct. The limit has no effect on a
         * function whose workers are not launched by the dispatcher. Default: 0.
         *
         * @param gbSeconds 0 or more; 0 means no limit
         */
        public Builder gbSecondsPerHour(double gbSeconds) {
            gbSecondsPerHour = gbSeconds;
            return this;
        }

        /**
         * Sets the memory of one worker, from which {@link #gbSecondsPerHour} is calculated. 1,024
         * MB count as one GB. It does not set the memory of the function. Default: 512.
         *
         * @param megabytes 1 or more
         */
        public Builder workerMegabytes(int megabytes) {
            workerMegabytes = megabytes;
            return this;
        }

        /**
         * Sets the time after its launch within which a worker must dial in. The dispatcher kills a
         * worker that does not. A worker that has dialled in must be ready within four times this
         * time. A worker that has drained must end within this time. Default: 30 s.
         *
         * @param time more than 0, at most 366 days
         */
        public Builder launchTimeout(Duration time) {
            launchTimeout = time;
            return this;
        }

        /**
         * Sets how often the launcher is asked which version new workers should have, see {@link
         * io.lambdadispatcher.core.spi.WorkerLauncher#version}. If the version changes, workers of
         * the new version replace the others. Has no effect if the launcher knows no versions.
         * Default: 30 s.
         *
         * @param interval 0 to 366 days; 0 means never
         */
        public Builder versionCheck(Duration interval) {
            versionCheck = interval;
            return this;
        }

        /**
         * Sets how a new version is tried. At first, some workers of the new version serve beside
         * the old ones. The others are replaced only if these have been ready for {@code time}
         * without failing more often than the old ones. Default: a tenth of the workers, for 2 min.
         *
         * @param share of the wanted workers, more than 0 and at most 1. It is rounded down, but at
         *     least one worker has the new version
         * @param time 0 to 366 days
         */
        public Builder canary(double share, Duration time) {
            canaryShare = share;
            canaryTime = time;
            return this;
        }

        /**
         * Returns the limits.
         *
         * @throws IllegalArgumentException if a value is out of its range
         */
        public LaunchLimits build() {
            return new LaunchLimits(this);
        }
    }
}
