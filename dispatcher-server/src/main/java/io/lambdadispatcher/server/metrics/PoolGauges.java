package io.lambdadispatcher.server.metrics;

import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;

/**
 * Shows pools as they were when {@link #refresh} was called: one look at the event loops for each scrape, not one for each gauge. Any
 * thread.
 */
final class PoolGauges {
    private final Supplier<List<PoolSnapshot>> pools;
    private volatile List<PoolSnapshot> latest = List.of();

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
        latest = pools.get();
    }

    private void gauge(MeterRegistry registry, String function, Meters meter, ToIntFunction<PoolSnapshot> part) {
        Gauge.builder(meter.title(), this, gauges -> gauges.sum(function, part))
                .description(meter.description())
                .tag("function", function)
                .register(registry);
    }

    private double sum(String function, ToIntFunction<PoolSnapshot> part) {
        return latest.stream()
                .filter(pool -> pool.function().equals(function))
                .mapToInt(part)
                .sum();
    }
}
