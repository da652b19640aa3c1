package io.lambdadispatcher.core.options;

import java.time.Duration;

/** Limits on launching the workers of a function. Immutable. {@link Builder} states units, defaults and ranges. */
public final class LaunchLimits {
    private final int launchesPerMinute;
    private final double gbSecondsPerHour;
    private final int workerMegabytes;
    private final Duration noShowAfter;

    private LaunchLimits(Builder from) {
        launchesPerMinute = from.launchesPerMinute;
        gbSecondsPerHour = from.gbSecondsPerHour;
        workerMegabytes = from.workerMegabytes;
        noShowAfter = from.noShowAfter;
        Check.atLeast("launchesPerMinute", launchesPerMinute, 1);
        Check.atLeast("gbSecondsPerHour", gbSecondsPerHour, 0);
        Check.atLeast("workerMegabytes", workerMegabytes, 1);
        Check.positive("noShowAfter", noShowAfter);
    }

    public static Builder builder() {
        return new Builder();
    }

    public static LaunchLimits defaults() {
        return builder().build();
    }

    public int launchesPerMinute() {
        return launchesPerMinute;
    }

    public double gbSecondsPerHour() {
        return gbSecondsPerHour;
    }

    public int workerMegabytes() {
        return workerMegabytes;
    }

    public Duration noShowAfter() {
        return noShowAfter;
    }

    /** Not thread-safe. Setters accept any value; {@link #build} validates. */
    public static final class Builder {
        private int launchesPerMinute = 300;
        private double gbSecondsPerHour;
        private int workerMegabytes = 512;
        private Duration noShowAfter = Duration.ofSeconds(30);

        private Builder() {}

        /** Sets the maximum number of launches in any 60 seconds, failed ones included. At least 1. Default: 300. */
        public Builder launchesPerMinute(int launches) {
            launchesPerMinute = launches;
            return this;
        }

        /**
         * Sets the maximum of memory times lifetime of all workers in any hour, in GB-seconds. Workers are retired as the
         * limit comes near, in the end all of them. 0 means no limit. Default: 0.
         */
        public Builder gbSecondsPerHour(double gbSeconds) {
            gbSecondsPerHour = gbSeconds;
            return this;
        }

        /** Sets the memory of one worker for {@link #gbSecondsPerHour}, in MB. At least 1. Default: 512. */
        public Builder workerMegabytes(int megabytes) {
            workerMegabytes = megabytes;
            return this;
        }

        /** Sets the time after its launch within which a worker must dial in. More than 0. Default: 30 s. */
        public Builder noShowAfter(Duration time) {
            noShowAfter = time;
            return this;
        }

        /** @throws IllegalArgumentException if a value is out of its range */
        public LaunchLimits build() {
            return new LaunchLimits(this);
        }
    }
}
