package io.lambdadispatcher.bench.simulate;

import io.lambdadispatcher.core.CapacityPolicy;
import io.lambdadispatcher.core.FunctionOptions;
import io.lambdadispatcher.core.LaunchLimits;
import java.time.Duration;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/** All that a run depends on, its code aside. Immutable. */
final class Settings {
    private final Map<Setting, Double> values;

    private Settings(Map<Setting, Double> values) {
        this.values = Collections.unmodifiableMap(values);
    }

    static Settings defaults() {
        Map<Setting, Double> values = new EnumMap<>(Setting.class);
        for (Setting setting : Setting.values()) {
            values.put(setting, setting.standard);
        }
        return new Settings(values);
    }

    Settings with(Setting setting, double value) {
        if (!(value >= 0)) {
            throw new IllegalArgumentException("--" + setting.option() + ": " + value + ", expected 0 or more");
        }
        Map<Setting, Double> changed = new EnumMap<>(values);
        changed.put(setting, value);
        return new Settings(changed);
    }

    Map<Setting, Double> values() {
        return values;
    }

    double get(Setting setting) {
        return values.getOrDefault(setting, setting.standard);
    }

    int count(Setting setting) {
        return (int) get(setting);
    }

    /** Of a setting in seconds. */
    long nanos(Setting seconds) {
        return (long) (get(seconds) * 1e9);
    }

    private Duration duration(Setting seconds) {
        return Duration.ofNanos(nanos(seconds));
    }

    /** @param trafficNanos how long there has been traffic; @return executions at once */
    double accountLimit(long trafficNanos) {
        double limit = get(Setting.ACCOUNT_LIMIT);
        return limit == 0 || trafficNanos >= get(Setting.ACCOUNT_LIMIT_SECONDS) * 1e9 ? Double.MAX_VALUE : limit;
    }

    FunctionOptions function() {
        CapacityPolicy policy = CapacityPolicy.between(count(Setting.MIN_WORKERS), count(Setting.MAX_WORKERS))
                .withWarmWorkers(count(Setting.WARM_WORKERS))
                .withHeadRoom(get(Setting.HEAD_ROOM))
                .withScaleIn(duration(Setting.IDLE_AFTER_SECONDS), duration(Setting.SCALE_IN_AFTER_SECONDS));
        LaunchLimits limits = LaunchLimits.defaults()
                .withLaunchesPerMinute(count(Setting.LAUNCHES_PER_MINUTE))
                .withSpending(0, count(Setting.MEGABYTES));
        return FunctionOptions.of("simulated")
                .withCapacity(policy)
                .withLaunching(limits)
                .withStreams(1, count(Setting.STREAMS))
                .withPending(count(Setting.PENDING_LIMIT), duration(Setting.PENDING_TIMEOUT_SECONDS));
    }

    Durations workerService() {
        return service(get(Setting.SERVICE_MILLIS));
    }

    Durations directService() {
        double own = get(Setting.DIRECT_SERVICE_MILLIS);
        return service(own == 0 ? get(Setting.SERVICE_MILLIS) : own);
    }

    private Durations service(double medianMillis) {
        return Durations.ofMillis(get(Setting.SERVICE_FIXED_MILLIS), medianMillis, get(Setting.SERVICE_SIGMA));
    }

    Durations workerStart() {
        return start(Setting.COLD_START_SECONDS);
    }

    Durations directStart() {
        return start(Setting.DIRECT_COLD_START_SECONDS);
    }

    private Durations start(Setting medianSeconds) {
        return Durations.ofMillis(0, get(medianSeconds) * 1000, get(Setting.COLD_START_SIGMA));
    }
}
