package io.lambdadispatcher.server.metrics;

import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/** How launching stands, as the dispatcher saw it last. Any thread. */
final class CapacityGauges {
    private final MeterRegistry registry;
    private final Supplier<List<CapacitySnapshot>> capacity;

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

    private void gauge(String function, Meters meter, ToDoubleFunction<CapacitySnapshot> part) {
        Gauge.builder(meter.title(), this, gauges -> gauges.value(function, part))
                .description(meter.description())
                .tag("function", function)
                .strongReference(true)
                .register(registry);
    }

    private double value(String function, ToDoubleFunction<CapacitySnapshot> part) {
        return capacity.get().stream()
                .filter(seen -> seen.function().equals(function))
                .mapToDouble(part)
                .sum();
    }
}
