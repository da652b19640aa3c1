package io.lambdadispatcher.core.observe;

import org.jspecify.annotations.Nullable;

/**
 * The state of one function's launching at a moment. Only functions whose workers the dispatcher
 * launches have one.
 *
 * @param function the name of the function
 * @param desired the number of launched workers that the function should have, within the capacity
 *     policy and the spending limit
 * @param starting workers that have been launched or have dialled in, but are not ready
 * @param ready workers that are ready, self-launched ones included
 * @param draining workers that finish their requests and take no new ones
 * @param launchesInLastMinute number of launches in the last 60 s, failed ones included
 * @param gbSecondsLastHour GB-seconds of the last hour, calculated from {@link
 *     io.lambdadispatcher.core.options.LaunchLimits#workerMegabytes}. Self-launched workers do not
 *     count, but direct requests do
 * @param gbSecondsTotal GB-seconds since the dispatcher started, calculated in the same way
 * @param base the base of the function; {@code null} if none is ready
 * @param advisedBase the base that the function should have; {@code null} if too little of its
 *     traffic was seen
 * @param scheduled what the schedule does; {@code null} if there is none
 * @param rollout the versions of the workers; {@code null} if the launcher names no version
 * @param blockedReason why launching is limited or paused, in one line; {@code null} if it is not
 */
public record CapacitySnapshot(
        String function,
        int desired,
        int starting,
        int ready,
        int draining,
        int launchesInLastMinute,
        double gbSecondsLastHour,
        double gbSecondsTotal,
        @Nullable Base base,
        @Nullable AdvisedBase advisedBase,
        @Nullable Scheduled scheduled,
        @Nullable RolloutSnapshot rollout,
        @Nullable String blockedReason) {

    /**
     * The workers that no dispatcher has launched. They carry the base of the traffic, and launched
     * workers what exceeds it. The minimum, the maximum and the spare workers do not count them.
     *
     * @param workers those that are ready
     * @param concurrency requests that they can serve concurrently: the streams that they have
     *     opened, without ejected workers
     * @param busy requests in flight on them
     * @param excess concurrent requests for which launched workers are needed, headroom included
     * @param version the version that most of them state; empty if none states one
     * @param versionDifference how the version of launched workers differs from it, and why, in
     *     one line; {@code null} if it does not. In a fleet, only one dispatcher knows it
     */
    public record Base(
            int workers,
            int concurrency,
            int busy,
            double excess,
            String version,
            @Nullable String versionDifference) {}

    /**
     * The base that would have been the cheapest for the traffic of the last hours. It is
     * calculated as if a stream of the base had as much memory and CPU as a stream of a launched
     * worker, at list prices of us-east-1 for x86.
     *
     * @param concurrency requests that it can serve concurrently; in a fleet, for the traffic of
     *     all dispatchers
     * @param dollarsPerHour what it and launched workers beside it would cost for this traffic
     * @param dollarsPerHourNow what the present base and launched workers beside it would cost
     */
    public record AdvisedBase(int concurrency, double dollarsPerHour, double dollarsPerHourNow) {
        /**
         * A GB-second on Lambda, first tier. Source: Artillery 2.0.28, see {@code
         * docs/explanation/cost.md}.
         */
        public static final double LAMBDA_GB_SECOND = 0.000_016_666_7;

        /**
         * A GB-second on Fargate with the CPU that Lambda gives with it: a vCPU for 1,769 MB.
         * Source of both prices: vantage.sh, read on 28 November 2026.
         */
        public static final double GB_SECOND = (0.040_48 * 1024 / 1769 + 0.004_445) / 3600;
    }

    /**
     * What the schedule of a function does, compared with the same traffic without it.
     *
     * @param minimum the minimum number of workers that it demands now; 0 = none
     * @param gbSeconds GB-seconds since the dispatcher started, of workers that only the schedule
     *     kept
     * @param requests estimated number of requests that found a ready worker because of it, and
     *     would have waited for its start without it
     */
    public record Scheduled(int minimum, double gbSeconds, long requests) {}
}
