package io.lambdadispatcher.core.options;

import java.time.Duration;

/**
 * How many workers the dispatcher launches for a function. Immutable. {@link Builder} states units, defaults and ranges.
 */
public final class CapacityPolicy {
    private static final int MAX_WORKERS = 100_000;

    /** Launches no workers. The function has only workers that launch themselves. */
    public static final CapacityPolicy NONE = fixed(0);

    private final int minWorkers;
    private final int maxWorkers;
    private final int warmWorkers;
    private final double headRoom;
    private final Duration idleAfter;
    private final Duration scaleInAfter;
    private final int warmEnvironments;
    private final Duration maxWorkerLife;

    private CapacityPolicy(Builder from) {
        minWorkers = from.minWorkers;
        maxWorkers = from.maxWorkers;
        warmWorkers = from.warmWorkers;
        headRoom = from.headRoom;
        idleAfter = from.idleAfter;
        scaleInAfter = from.scaleInAfter;
        warmEnvironments = from.warmEnvironments;
        maxWorkerLife = from.maxWorkerLife;
        Check.range("minWorkers", minWorkers, 0, MAX_WORKERS);
        Check.that(
                maxWorkers >= minWorkers && maxWorkers <= MAX_WORKERS,
                "maxWorkers",
                Check.number(maxWorkers),
                "minWorkers (" + Check.number(minWorkers) + ") to " + Check.number(MAX_WORKERS));
        Check.range("warmWorkers", warmWorkers, 0, MAX_WORKERS);
        Check.that(headRoom >= 0 && headRoom <= 10, "headRoom", Check.number(headRoom), "0 to 10");
        Check.notNegative("idleAfter", idleAfter);
        Check.notNegative("scaleInAfter", scaleInAfter);
        Check.range("warmEnvironments", warmEnvironments, 0, 1000);
        Check.notNegative("maxWorkerLife", maxWorkerLife);
    }

    public static Builder builder() {
        return new Builder();
    }

    /** Returns a policy that always keeps this number of workers. */
    public static CapacityPolicy fixed(int workers) {
        return between(workers, workers);
    }

    /** Returns a policy with these limits and defaults for the rest. */
    public static CapacityPolicy between(int min, int max) {
        return builder().workers(min, max).build();
    }

    public int minWorkers() {
        return minWorkers;
    }

    public int maxWorkers() {
        return maxWorkers;
    }

    public int warmWorkers() {
        return warmWorkers;
    }

    public double headRoom() {
        return headRoom;
    }

    public Duration idleAfter() {
        return idleAfter;
    }

    public Duration scaleInAfter() {
        return scaleInAfter;
    }

    public int warmEnvironments() {
        return warmEnvironments;
    }

    public Duration maxWorkerLife() {
        return maxWorkerLife;
    }

    /** Not thread-safe. Setters accept any value; {@link #build} validates. */
    public static final class Builder {
        private int minWorkers;
        private int maxWorkers;
        private int warmWorkers;
        private double headRoom = 0.25;
        private Duration idleAfter = Duration.ofMinutes(5);
        private Duration scaleInAfter = Duration.ofMinutes(1);
        private int warmEnvironments;
        private Duration maxWorkerLife = Duration.ZERO;

        private Builder() {}

        /**
         * Sets the number of launched workers. The minimum is always kept. While workers are being replaced because they
         * expire, are ejected or are lost, there can be up to twice the maximum. A maximum of 0 launches none. Default: 0
         * and 0.
         *
         * @param min 0 to 100,000
         * @param max {@code min} to 100,000
         */
        public Builder workers(int min, int max) {
            minWorkers = min;
            maxWorkers = max;
            return this;
        }

        /**
         * Sets the number of workers that are kept ready beyond what the traffic needs, while there is traffic or the
         * minimum is above 0. 0 to 100,000. Default: 0.
         */
        public Builder warmWorkers(int workers) {
            warmWorkers = workers;
            return this;
        }

        /**
         * Sets the capacity that is kept free for growing traffic, as a fraction of what the traffic needs now. 0 to 10.
         * Default: 0.25.
         */
        public Builder headRoom(double fraction) {
            headRoom = fraction;
            return this;
        }

        /** Sets the time without requests after which only the minimum of workers is kept. Default: 5 minutes. */
        public Builder idleAfter(Duration time) {
            idleAfter = time;
            return this;
        }

        /** Sets the time with one worker too many after which one is retired. Default: 1 minute. */
        public Builder scaleInAfter(Duration time) {
            scaleInAfter = time;
            return this;
        }

        /**
         * Sets the number of execution environments that init-only invokes keep initialised beyond the workers. 0 to
         * 1,000. Default: 0.
         */
        public Builder warmEnvironments(int environments) {
            warmEnvironments = environments;
            return this;
        }

        /**
         * Sets the age before which a worker is replaced, even if its launcher would let it live longer. Zero means no
         * limit. Default: zero.
         */
        public Builder maxWorkerLife(Duration age) {
            maxWorkerLife = age;
            return this;
        }

        /** @throws IllegalArgumentException if a value is out of its range */
        public CapacityPolicy build() {
            return new CapacityPolicy(this);
        }
    }
}
