package io.lambdadispatcher.core.internal.capacity.simulate;

import java.util.Locale;

/**
 * What can be said of a run, each a number: {@code --service-millis 50}. Where it is about what
 * {@code FunctionOptions}, {@code CapacityPolicy} or {@code LaunchLimits} hold, the default is
 * theirs.
 */
enum SimulationSetting {
    SEED(1, "of all random numbers"),
    WARM_UP_SECONDS(60, "before the first request, uncounted"),
    DURATION_SECONDS(600, "of traffic at most"),
    TAIL_SECONDS(0, "after the last request, counted in the cost"),

    IN_FLIGHT(0, "requests a closed loop keeps in flight; 0 = an open loop"),
    REQUESTS(0, "of a closed loop in all, an equal share for each in flight; 0 = until the duration is over"),
    RATE(50, "requests per second of an open loop, the lowest"),
    PEAK_RATE(50, "its highest"),
    PEAK_AT_SECONDS(120, "when a spike begins"),
    PEAK_SECONDS(120, "how long it lasts"),

    SERVICE_MILLIS(100, "median time in service, alone on a worker"),
    SERVICE_FIXED_MILLIS(0, "added to each"),
    SERVICE_SIGMA(0.3, "of its logarithm"),
    CONTENTION_ABOVE(
            0, "exchanges a worker serves at full speed; n times as many take n times as long; 0 = any number"),
    STREAMS(10, "per worker"),

    MIN_WORKERS(0, "kept always"),
    MAX_WORKERS(100, "never more"),
    WARM_WORKERS(0, "ready beyond the need"),
    HEADROOM(0.25, "fraction of the need"),
    IDLE_AFTER_SECONDS(300, "without a request until only the minimum is kept"),
    SCALE_IN_AFTER_SECONDS(60, "with one too many until it goes"),
    LAUNCHES_PER_MINUTE(300, "at most"),
    QUEUE_LIMIT(10_000, "requests that may wait"),
    QUEUE_TIMEOUT_SECONDS(10, "how long they may"),

    LAUNCH_MILLIS(50, "until an invoke has reached its environment, or has been refused"),
    COLD_START_SECONDS(2.5, "median from there to dialling in"),
    COLD_START_SIGMA(0.15, "of its logarithm"),
    DEADLINE_SECONDS(900, "timeout of the function"),
    FAILURE_PROBABILITY(0, "that a start fails"),
    FAILURE_SECONDS(1, "how long it takes to"),
    ACCOUNT_LIMIT(0, "concurrent executions; 0 = no limit"),
    ACCOUNT_LIMIT_SECONDS(1e9, "of traffic, after which the limit is gone"),

    DIRECT_WARM(0, "environments that are warm when the traffic begins"),
    DIRECT_SERVICE_MILLIS(0, "median time in service; 0 = the same as on a worker"),
    DIRECT_COLD_START_SECONDS(2.5, "median"),
    DIRECT_KEPT_SECONDS(450, "an idle environment is kept, two thirds to four thirds of it"),

    MEGABYTES(512, "of a worker"),
    DIRECT_MEGABYTES(512, "of an environment of the direct path"),
    GB_SECOND_DOLLARS(0.0000166667, "x86 in us-east-1, first tier; 0.0000133334 for arm64"),
    MILLION_REQUESTS_DOLLARS(0.20, "invokes"),
    DISPATCHER_HOUR_DOLLARS(0.04937, "one Fargate task of 1 vCPU and 2 GB in us-east-1");

    final double standard;
    final String meaning;

    SimulationSetting(double standard, String meaning) {
        this.standard = standard;
        this.meaning = meaning;
    }

    /** As it is written on the command line, without the dashes in front. */
    String option() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** @throws IllegalArgumentException if there is none of that name */
    static SimulationSetting of(String option) {
        for (SimulationSetting setting : values()) {
            if (setting.option().equals(option)) {
                return setting;
            }
        }
        throw new IllegalArgumentException("option: --" + option + ", expected one that --help lists");
    }
}
