package io.lambdadispatcher.core.options;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How many workers the dispatcher launches for a function. {@link Builder} states units, defaults
 * and ranges. Immutable.
 *
 * <pre>{@code
 * CapacityPolicy policy = CapacityPolicy.builder()
 *         .workers(2, 50)
 *         .minSpareWorkers(1)
 *         .idleTimeout(Duration.ofMinutes(10))
 *         .build();
 * }</pre>
 *
 * <p>The function needs a {@link io.lambdadispatcher.core.spi.WorkerLauncher} if the maximum is
 * above 0.
 */
public final class CapacityPolicy {
    /** Largest number of workers. */
    public static final int MAX_WORKERS = 100_000;

    /** Largest {@link Builder#prewarmedEnvironments}. */
    public static final int MAX_PREWARMED_ENVIRONMENTS = 1_000;

    /** Smallest {@link Builder#targetUtilization}. */
    public static final double MIN_TARGET_UTILIZATION = 0.1;

    /** Smallest {@link Builder#maxWorkerAge} except zero. */
    public static final Duration MIN_WORKER_AGE = Duration.ofSeconds(30);

    /** Launches no workers. The function has only workers that launch themselves. */
    public static final CapacityPolicy NONE = fixed(0);

    private final int minWorkers;
    private final int maxWorkers;
    private final WorkerSchedule schedule;
    private final int minSpareWorkers;
    private final double targetUtilization;
    private final Duration idleTimeout;
    private final Duration scaleDownDelay;
    private final int prewarmedEnvironments;
    private final Duration maxWorkerAge;
    private final @Nullable DownstreamBudget downstream;
    private final boolean cappedByDownstream;

    private CapacityPolicy(Builder from) {
        minWorkers = from.minWorkers;
        schedule = from.schedule;
        minSpareWorkers = from.minSpareWorkers;
        targetUtilization = from.targetUtilization;
        idleTimeout = from.idleTimeout;
        scaleDownDelay = from.scaleDownDelay;
        prewarmedEnvironments = from.prewarmedEnvironments;
        maxWorkerAge = from.maxWorkerAge;
        Check.range("minWorkers", minWorkers, 0, MAX_WORKERS);
        Check.that(
                from.maxWorkers >= minWorkers && from.maxWorkers <= MAX_WORKERS,
                "maxWorkers",
                Check.number(from.maxWorkers),
                "minWorkers (" + Check.number(minWorkers) + ") to " + Check.number(MAX_WORKERS));
        Check.range("schedule", schedule.largest(), 0, from.maxWorkers);
        Check.range("minSpareWorkers", minSpareWorkers, 0, MAX_WORKERS);
        Check.that(
                targetUtilization >= MIN_TARGET_UTILIZATION && targetUtilization <= 1,
                "targetUtilization",
                Check.number(targetUtilization),
                MIN_TARGET_UTILIZATION + " to 1");
        Check.notNegative("idleTimeout", idleTimeout);
        Check.notNegative("scaleDownDelay", scaleDownDelay);
        Check.range("prewarmedEnvironments", prewarmedEnvironments, 0, MAX_PREWARMED_ENVIRONMENTS);
        Check.that(
                maxWorkerAge.isZero()
                        || maxWorkerAge.compareTo(MIN_WORKER_AGE) >= 0 && maxWorkerAge.compareTo(Check.LONGEST) <= 0,
                "maxWorkerAge",
                maxWorkerAge.toString(),
                "0, or 30 s to 366 days");
        downstream = from.downstreamConnections == 0 ? null : from.divided();
        maxWorkers = downstream == null ? from.maxWorkers : downstream.maxWorkers();
        cappedByDownstream = maxWorkers < from.maxWorkers;
    }

    /** Starts a policy that launches no workers until {@link Builder#workers} is called. */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Returns a policy that always keeps this number of workers.
     *
     * @param workers 0 to {@value CapacityPolicy#MAX_WORKERS}
     * @throws IllegalArgumentException if {@code workers} is out of its range
     */
    public static CapacityPolicy fixed(int workers) {
        return between(workers, workers);
    }

    /**
     * Returns a policy with these limits, and with the defaults of {@link Builder} for everything
     * else.
     *
     * @param min 0 to {@value CapacityPolicy#MAX_WORKERS}
     * @param max {@code min} to {@value CapacityPolicy#MAX_WORKERS}
     * @throws IllegalArgumentException if a number is out of its range
     */
    public static CapacityPolicy between(int min, int max) {
        return builder().workers(min, max).build();
    }

    /** Returns the minimum number of launched workers. See {@link Builder#workers}. */
    public int minWorkers() {
        return minWorkers;
    }

    /** Returns the minimum at certain times. See {@link Builder#schedule}. */
    public WorkerSchedule schedule() {
        return schedule;
    }

    /**
     * Returns the maximum number of launched workers. It is less than {@link Builder#workers} says
     * if {@link Builder#downstreamConnections} does not permit as many.
     */
    public int maxWorkers() {
        return maxWorkers;
    }

    /**
     * Returns whether {@link Builder#downstreamConnections} permits fewer workers than {@link
     * Builder#workers}.
     */
    public boolean isCappedByDownstream() {
        return cappedByDownstream;
    }

    /**
     * Returns the maximum number of launched workers, including those that are being replaced and
     * those that are draining or ending.
     */
    public int maxAlive() {
        return downstream == null ? 2 * maxWorkers : downstream.maxAlive();
    }

    /**
     * Returns how the connections of {@link Builder#downstreamConnections} are divided, or {@code
     * null} if there is no such limit.
     */
    public @Nullable DownstreamBudget downstream() {
        return downstream;
    }

    /** Returns the number of spare workers. See {@link Builder#minSpareWorkers}. */
    public int minSpareWorkers() {
        return minSpareWorkers;
    }

    /** Returns the share of workers that should be busy. See {@link Builder#targetUtilization}. */
    public double targetUtilization() {
        return targetUtilization;
    }

    /** Returns what {@link Builder#idleTimeout} sets. */
    public Duration idleTimeout() {
        return idleTimeout;
    }

    /** Returns the time that surplus workers are kept. See {@link Builder#scaleDownDelay}. */
    public Duration scaleDownDelay() {
        return scaleDownDelay;
    }

    /** Returns what {@link Builder#prewarmedEnvironments} sets. */
    public int prewarmedEnvironments() {
        return prewarmedEnvironments;
    }

    /** Returns what {@link Builder#maxWorkerAge} sets; zero = no limit. */
    public Duration maxWorkerAge() {
        return maxWorkerAge;
    }

    /**
     * Builds a {@link CapacityPolicy}. Setters accept any value, and {@link #build} validates them.
     * Not thread-safe.
     */
    public static final class Builder {
        private int minWorkers;
        private int maxWorkers;
        private WorkerSchedule schedule = WorkerSchedule.NONE;
        private int minSpareWorkers;
        private double targetUtilization = 0.8;
        private Duration idleTimeout = Duration.ofMinutes(5);
        private Duration scaleDownDelay = Duration.ofMinutes(1);
        private int prewarmedEnvironments;
        private Duration maxWorkerAge = Duration.ZERO;
        private int downstreamConnections;
        private int downstreamConnectionsPerWorker = 1;

        private Builder() {}

        private DownstreamBudget divided() {
            Check.atLeast("downstreamConnections", downstreamConnections, 0);
            Check.that(
                    maxWorkers > 0,
                    "downstreamConnections",
                    Check.number(downstreamConnections),
                    "0, because no workers are launched (maxWorkers is 0)");
            return DownstreamBudget.of(
                    downstreamConnections,
                    downstreamConnectionsPerWorker,
                    Math.max(minWorkers, schedule.largest()),
                    maxWorkers);
        }

        /**
         * Sets the minimum and the maximum number of launched workers. The dispatcher keeps the
         * minimum even without traffic. It launches none if the maximum is 0. Workers that nobody
         * launches do not count. Default: 0 and 0.
         *
         * <p>While workers are being replaced, there can be up to twice the maximum. The launch
         * limits can keep the number below the minimum. See {@link LaunchLimits}.
         *
         * @param min 0 to {@value CapacityPolicy#MAX_WORKERS}
         * @param max {@code min} to {@value CapacityPolicy#MAX_WORKERS}
         */
        public Builder workers(int min, int max) {
            minWorkers = min;
            maxWorkers = max;
            return this;
        }

        /**
         * Sets a larger minimum for certain times. The workers are launched so early that they are
         * ready when the time begins. Afterwards, those that the traffic does not need are retired
         * like others. Default: none.
         *
         * @param value its numbers are at most the maximum of {@link #workers}
         */
        public Builder schedule(WorkerSchedule value) {
            schedule = value;
            return this;
        }

        /**
         * Sets the number of workers that are kept in addition to those that the traffic needs. It
         * applies while the function is not idle, or if the minimum is above 0. The maximum still
         * applies. Default: 0.
         *
         * @param workers 0 to {@value CapacityPolicy#MAX_WORKERS}
         */
        public Builder minSpareWorkers(int workers) {
            minSpareWorkers = workers;
            return this;
        }

        /**
         * Sets which share of the workers' concurrency should be busy. The rest is spare capacity
         * for growing traffic. With 0.8, a load of 80 concurrent requests gets workers for 100.
         * Default: 0.8.
         *
         * @param share {@value CapacityPolicy#MIN_TARGET_UTILIZATION} to 1
         */
        public Builder targetUtilization(double share) {
            targetUtilization = share;
            return this;
        }

        /**
         * Sets the time without requests after which a function is idle. The traffic of an idle
         * function needs no workers, so only the minimum and {@link #minSpareWorkers} count.
         * Default: 5 minutes.
         *
         * @param time 0 to 366 days
         */
        public Builder idleTimeout(Duration time) {
            idleTimeout = time;
            return this;
        }

        /**
         * Sets how long surplus workers are kept. The dispatcher keeps the largest number of
         * workers that was wanted within this time, and drains the others. Beside workers that
         * nobody launches, it is at most half of this time, and less if starts are short. Default:
         * 1 minute.
         *
         * @param time 0 to 366 days
         */
        public Builder scaleDownDelay(Duration time) {
            scaleDownDelay = time;
            return this;
        }

        /**
         * Sets the number of execution environments that the launcher prepares from time to time,
         * so that later launches are fast. They do not dial in. See {@link
         * io.lambdadispatcher.core.spi.WorkerLauncher#warmUp}. Default: 0.
         *
         * @param environments 0 to {@value CapacityPolicy#MAX_PREWARMED_ENVIRONMENTS}
         */
        public Builder prewarmedEnvironments(int environments) {
            prewarmedEnvironments = environments;
            return this;
        }

        /**
         * Sets the maximum age of a launched worker. The worker is replaced and drained before it
         * reaches this age. It can end earlier if its launcher limits its lifetime. A worker that
         * was ready when a shorter age was set is replaced when it reaches the age. Default: zero,
         * which means no limit.
         *
         * @param age 0, or 30 s to 366 days, counted from the launch
         */
        public Builder maxWorkerAge(Duration age) {
            maxWorkerAge = age;
            return this;
        }

        /**
         * Limits the connections that all launched workers of the function together open to
         * something that they share, for example to a database. The dispatcher divides them into
         * equal shares, tells each worker its share, and launches no more workers than there are
         * shares, also while workers are being replaced. {@link DownstreamBudget} says how.
         * Default: 0, which means no limit.
         *
         * @param connections 0, or at least {@link DownstreamBudget#least}
         * @param perWorker the number of connections that each worker needs at least, 1 or more
         */
        public Builder downstreamConnections(int connections, int perWorker) {
            downstreamConnections = connections;
            downstreamConnectionsPerWorker = perWorker;
            return this;
        }

        /**
         * Returns the policy.
         *
         * @throws IllegalArgumentException if a value is out of its range
         */
        public CapacityPolicy build() {
            return new CapacityPolicy(this);
        }
    }
}
