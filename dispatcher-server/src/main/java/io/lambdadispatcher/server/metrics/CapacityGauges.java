package io.lambdadispatcher.server.metrics;

import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/**
 * Shows how launching stood when {@link #refresh} was called: one look at the dispatcher for each
 * scrape, not one for each gauge. Any thread.
 */
final class CapacityGauges {
    private final MeterRegistry registry;
    private final Supplier<List<CapacitySnapshot>> capacity;
    private volatile Map<String, CapacitySnapshot> latest = Map.of();

    CapacityGauges(MeterRegistry registry, List<String> functions, Supplier<List<CapacitySnapshot>> capacity) {
        this.registry = registry;
        this.capacity = capacity;
        for (String function : functions) {
            gauge(function, Meters.WORKERS_WANTED, CapacitySnapshot::wanted);
            gauge(function, Meters.WORKERS_COMING, CapacitySnapshot::coming);
            gauge(function, Meters.WORKERS_DRAINING, CapacitySnapshot::draining);
            gauge(function, Meters.WORKERS_EJECTED, CapacitySnapshot::ejected);
            gauge(function, Meters.LAUNCHING_HELD, seen -> seen.obstacle() == null ? 0 : 1);
            FunctionCounter.builder(
                            Meters.SPENDING.title(),
                            this,
                            gauges -> gauges.value(function, CapacitySnapshot::gbSecondsTotal))
                    .description(Meters.SPENDING.description())
                    .tag("function", function)
                    .register(registry);
        }
    }

    void refresh() {
        latest = capacity.get().stream().collect(Collectors.toMap(CapacitySnapshot::function, Function.identity()));
    }

    private void gauge(String function, Meters meter, ToDoubleFunction<CapacitySnapshot> part) {
        Gauge.builder(meter.title(), this, gauges -> gauges.value(function, part))
                .description(meter.description())
                .tag("function", function)
                .strongReference(true)
                .register(registry);
    }

    private double value(String function, ToDoubleFunction<CapacitySnapshot> part) {
        CapacitySnapshot seen = latest.get(function);
        return seen == null ? 0 : part.applyAsDouble(seen);
    }
}
