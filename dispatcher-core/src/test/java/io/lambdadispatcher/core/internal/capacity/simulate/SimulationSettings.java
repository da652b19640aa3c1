package io.lambdadispatcher.core.internal.capacity.simulate;

import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import java.time.Duration;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/** All inputs of a run. Immutable. */
final class SimulationSettings {
    private final Map<SimulationSetting, Double> values;

    private SimulationSettings(Map<SimulationSetting, Double> values) {
        this.values = Collections.unmodifiableMap(values);
    }

    static SimulationSettings defaults() {
        Map<SimulationSetting, Double> values = new EnumMap<>(SimulationSetting.class);
        for (SimulationSetting setting : SimulationSetting.values()) {
            values.put(setting, setting.standard);
        }
        return new SimulationSettings(values);
    }

    SimulationSettings with(SimulationSetting setting, double value) {
        if (!(value >= 0)) {
            throw new IllegalArgumentException("--" + setting.option() + ": " + value + ", expected 0 or more");
        }
        Map<SimulationSetting, Double> changed = new EnumMap<>(values);
        changed.put(setting, value);
        return new SimulationSettings(changed);
    }

    Map<SimulationSetting, Double> values() {
        return values;
    }

    double get(SimulationSetting setting) {
        return values.getOrDefault(setting, setting.standard);
    }

    int count(SimulationSetting setting) {
        return (int) get(setting);
    }

    /** Converts a setting in seconds to nanoseconds. */
    long nanos(SimulationSetting seconds) {
        return (long) (get(seconds) * 1e9);
    }

    private Duration duration(SimulationSetting seconds) {
        return Duration.ofNanos(nanos(seconds));
    }

    /**
     * @param trafficNanos time since the traffic began
     * @return maximum of concurrent executions
     */
    double accountLimit(long trafficNanos) {
        double limit = get(SimulationSetting.ACCOUNT_LIMIT);
        return limit == 0 || trafficNanos >= get(SimulationSetting.ACCOUNT_LIMIT_SECONDS) * 1e9
                ? Double.MAX_VALUE
                : limit;
    }

    FunctionOptions function() {
        CapacityPolicy policy = CapacityPolicy.builder()
                .workers(count(SimulationSetting.MIN_WORKERS), count(SimulationSetting.MAX_WORKERS))
                .minSpareWorkers(count(SimulationSetting.WARM_WORKERS))
                .targetUtilization(1 / (1 + get(SimulationSetting.HEADROOM)))
                .idleTimeout(duration(SimulationSetting.IDLE_AFTER_SECONDS))
                .scaleDownDelay(duration(SimulationSetting.SCALE_IN_AFTER_SECONDS))
                .build();
        LaunchLimits limits = LaunchLimits.builder()
                .launchesPerMinute(count(SimulationSetting.LAUNCHES_PER_MINUTE))
                .workerMegabytes(count(SimulationSetting.MEGABYTES))
                .build();
        return FunctionOptions.builder("simulated")
                .capacity(policy)
                .launching(limits)
                .streamsPerConnection(count(SimulationSetting.STREAMS))
                .queue(count(SimulationSetting.QUEUE_LIMIT), duration(SimulationSetting.QUEUE_TIMEOUT_SECONDS))
                .build();
    }

    Durations workerService() {
        return service(get(SimulationSetting.SERVICE_MILLIS));
    }

    Durations directService() {
        double own = get(SimulationSetting.DIRECT_SERVICE_MILLIS);
        return service(own == 0 ? get(SimulationSetting.SERVICE_MILLIS) : own);
    }

    private Durations service(double medianMillis) {
        return Durations.ofMillis(
                get(SimulationSetting.SERVICE_FIXED_MILLIS), medianMillis, get(SimulationSetting.SERVICE_SIGMA));
    }

    Durations workerStart() {
        return start(SimulationSetting.COLD_START_SECONDS);
    }

    /** Returns the start of a worker in an environment that ran before. */
    Durations warmStart() {
        return start(SimulationSetting.WARM_START_SECONDS);
    }

    Durations directStart() {
        return start(SimulationSetting.DIRECT_COLD_START_SECONDS);
    }

    private Durations start(SimulationSetting medianSeconds) {
        return Durations.ofMillis(0, get(medianSeconds) * 1000, get(SimulationSetting.COLD_START_SIGMA));
    }
}
