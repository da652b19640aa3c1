package io.lambdadispatcher.core.options;

import java.time.Duration;
import java.util.Objects;

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
    private final RolloutPolicy rollout;

    private LaunchLimits(Builder from) {
        launchesPerMinute = from.launchesPerMinute;
        gbSecondsPerHour = from.gbSecondsPerHour;
        workerMegabytes = from.workerMegabytes;
        launchTimeout = from.launchTimeout;
        versionCheck = from.versionCheck;
        rollout = from.rollout;
        Check.atLeast("launchesPerMinute", launchesPerMinute, 1);
        Check.atLeast("gbSecondsPerHour", gbSecondsPerHour, 0);
        Check.atLeast("workerMegabytes", workerMegabytes, 1);
        Check.positive("launchTimeout", launchTimeout);
        Check.positive("versionCheck", versionCheck);
    }

    /** Starts limits with the defaults. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns the maximum number of launches in 60 s. See {@link Builder#launchesPerMinute}. */
    public int launchesPerMinute() {
        return launchesPerMinute;
    }

    /** Returns what {@link Builder#gbSecondsPerHour} sets; 0 = no limit. */
    public double gbSecondsPerHour() {
        return gbSecondsPerHour;
    }

    /** Returns the memory of one worker, in MB. See {@link Builder#workerMegabytes}. */
    public int workerMegabytes() {
        return workerMegabytes;
    }

    /** Returns what {@link Builder#launchTimeout} sets. */
    public Duration launchTimeout() {
        return launchTimeout;
    }

    /** Returns what {@link Builder#versionCheck} sets. */
    public Duration versionCheck() {
        return versionCheck;
    }

    /** Returns how a new version replaces the old one. See {@link Builder#rollout}. */
    public RolloutPolicy rollout() {
        return rollout;
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
        private RolloutPolicy rollout = RolloutPolicy.FAST;

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
         * io.lambdadispatcher.core.spi.WorkerLauncher#version}. It is not asked with {@link
         * RolloutPolicy#OFF}. Default: 30 s.
         *
         * @param interval more than 0, at most 366 days
         */
        public Builder versionCheck(Duration interval) {
            versionCheck = interval;
            return this;
        }

        /**
         * Sets how workers of a new version replace the others. Has no effect if the launcher knows
         * no versions. Default: {@link RolloutPolicy#FAST}.
         */
        public Builder rollout(RolloutPolicy policy) {
            rollout = Objects.requireNonNull(policy, "rollout");
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
