package io.lambdadispatcher.server.metrics;

import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;

/**
 * Shows pools as they were when {@link #refresh} was called: one look at the event loops for each scrape, not one for each gauge. Any
 * thread.
 */
final class PoolGauges {
    private final Supplier<List<PoolSnapshot>> pools;
    private volatile Map<String, PoolSnapshot> latest = Map.of();

    PoolGauges(MeterRegistry registry, List<String> functions, Supplier<List<PoolSnapshot>> pools) {
        this.pools = pools;
        for (String function : functions) {
            gauge(registry, function, Meters.WORKERS, PoolSnapshot::workers);
            gauge(registry, function, Meters.WORKERS_READY, PoolSnapshot::readyWorkers);
            gauge(registry, function, Meters.WORKER_STREAMS, PoolSnapshot::streams);
            gauge(registry, function, Meters.WORKER_STREAMS_FREE, PoolSnapshot::free);
            gauge(registry, function, Meters.PENDING, PoolSnapshot::pending);
        }
    }

    void refresh() {
        latest = pools.get().stream().collect(Collectors.toMap(PoolSnapshot::function, Function.identity()));
    }

    private void gauge(MeterRegistry registry, String function, Meters meter, ToIntFunction<PoolSnapshot> part) {
        Gauge.builder(meter.title(), this, gauges -> gauges.value(function, part))
                .description(meter.description())
                .tag("function", function)
                .register(registry);
    }

    private double value(String function, ToIntFunction<PoolSnapshot> part) {
        PoolSnapshot seen = latest.get(function);
        return seen == null ? 0 : part.applyAsInt(seen);
    }
}
