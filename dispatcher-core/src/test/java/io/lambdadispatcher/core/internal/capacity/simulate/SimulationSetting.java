package io.lambdadispatcher.core.internal.capacity.simulate;

import java.util.Locale;

/**
 * Numeric settings of a run, for example {@code --service-millis 50}. A setting that {@code
 * FunctionOptions}, {@code CapacityPolicy} or {@code LaunchLimits} also has gets its default from
 * there.
 */
enum SimulationSetting {
    SEED(1, "seed of all random numbers"),
    WARM_UP_SECONDS(60, "time before the first request, not counted"),
    DURATION_SECONDS(600, "maximum duration of the traffic"),
    TAIL_SECONDS(0, "time after the last request, counted in the cost"),

    IN_FLIGHT(0, "requests in flight of a closed loop; 0 = an open loop"),
    REQUESTS(0, "total requests of a closed loop, an equal share per client; 0 = until the duration is over"),
    RATE(50, "lowest rate of an open loop, in requests per second"),
    PEAK_RATE(50, "highest rate of an open loop, in requests per second"),
    PEAK_AT_SECONDS(120, "time at which a spike begins"),
    PEAK_SECONDS(120, "duration of a spike"),

    SERVICE_MILLIS(100, "median service time of a request alone on a worker"),
    SERVICE_FIXED_MILLIS(0, "fixed time added to each service time"),
    SERVICE_SIGMA(0.3, "standard deviation of the logarithm of the service time"),
    CONTENTION_ABOVE(
            0, "requests that a worker serves at full speed; n times as many take n times as long; 0 = any number"),
    STREAMS(10, "streams per worker"),

    BASE_WORKERS(0, "workers that nobody launches, ready from the beginning"),
    BASE_STREAMS(10, "streams of each of them"),
    MIN_WORKERS(0, "minimum number of workers"),
    MAX_WORKERS(100, "maximum number of workers"),
    WARM_WORKERS(0, "ready workers in addition to those that are needed"),
    HEADROOM(0.25, "spare capacity as a fraction of the need"),
    IDLE_AFTER_SECONDS(300, "time without a request until only the minimum is kept"),
    SCALE_IN_AFTER_SECONDS(60, "time for which surplus workers are kept"),
    LAUNCHES_PER_MINUTE(300, "maximum launches per minute"),
    QUEUE_LIMIT(10_000, "maximum number of queued requests"),
    QUEUE_TIMEOUT_SECONDS(10, "maximum time in the queue"),

    LAUNCH_MILLIS(50, "time until an invocation reaches its environment or is refused"),
    COLD_START_SECONDS(2.5, "median time from the start of an environment until its worker dials in"),
    COLD_START_SIGMA(0.15, "standard deviation of the logarithm of the cold start"),
    WARM_START_PROBABILITY(0, "probability that a launch finds an environment that ran before"),
    WARM_START_SECONDS(0.2, "median time until the worker of such an environment dials in"),
    DEADLINE_SECONDS(900, "timeout of the function"),
    FAILURE_PROBABILITY(0, "probability that a start fails"),
    FAILURE_SECONDS(1, "time until a failed start ends"),
    ACCOUNT_LIMIT(0, "maximum concurrent executions; 0 = no limit"),
    ACCOUNT_LIMIT_SECONDS(1e9, "time of traffic after which the account limit no longer applies"),

    DIRECT_WARM(0, "warm environments of the direct path when the traffic begins"),
    DIRECT_SERVICE_MILLIS(0, "median service time on the direct path; 0 = the same as on a worker"),
    DIRECT_COLD_START_SECONDS(2.5, "median cold start on the direct path"),
    DIRECT_KEPT_SECONDS(450, "mean time an idle environment is kept; varies by one third"),

    MEGABYTES(512, "memory of a worker"),
    DIRECT_MEGABYTES(512, "memory of an environment of the direct path"),
    GB_SECOND_DOLLARS(0.0000166667, "price of a GB-second: x86 in us-east-1, first tier; 0.0000133334 for arm64"),
    MILLION_REQUESTS_DOLLARS(0.20, "price of a million invocations"),
    DISPATCHER_HOUR_DOLLARS(0.04937, "price of a dispatcher hour: one Fargate task of 1 vCPU and 2 GB in us-east-1");

    final double standard;
    final String meaning;

    SimulationSetting(double standard, String meaning) {
        this.standard = standard;
        this.meaning = meaning;
    }

    /** Returns the name on the command line, without the leading dashes. */
    String option() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** @throws IllegalArgumentException if there is no setting with this name */
    static SimulationSetting of(String option) {
        for (SimulationSetting setting : values()) {
            if (setting.option().equals(option)) {
                return setting;
            }
        }
        throw new IllegalArgumentException("option: --" + option + ", expected one that --help lists");
    }
}
