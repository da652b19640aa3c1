package io.lambdadispatcher.server.metrics;

import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.ClientSnapshot;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.lambdadispatcher.server.access.AccessLog;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.binder.jvm.ClassLoaderMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.netty4.NettyAllocatorMetrics;
import io.micrometer.core.instrument.binder.system.FileDescriptorMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufAllocatorMetricProvider;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** Everything that {@code /metrics} shows: ours, the JVM's and the Netty allocator's. Thread-safe after {@link #watchPools}. */
public final class Metrics implements AutoCloseable {
    private final CoarseClock clock = new CoarseClock();
    private final PrometheusMeterRegistry registry =
            new PrometheusMeterRegistry(PrometheusConfig.DEFAULT, new PrometheusRegistry(), clock);
    private final MicrometerObserver observer = new MicrometerObserver(registry);
    private final JvmGcMetrics garbageCollection = new JvmGcMetrics();
    private volatile @Nullable PoolGauges pools;
    private volatile @Nullable CapacityGauges capacity;

    public Metrics() {
        new JvmMemoryMetrics().bindTo(registry);
        new JvmThreadMetrics().bindTo(registry);
        new ClassLoaderMetrics().bindTo(registry);
        new ProcessorMetrics().bindTo(registry);
        new UptimeMetrics().bindTo(registry);
        new FileDescriptorMetrics().bindTo(registry);
        garbageCollection.bindTo(registry);
        if (ByteBufAllocator.DEFAULT instanceof ByteBufAllocatorMetricProvider allocator) {
            new NettyAllocatorMetrics(allocator).bindTo(registry);
        }
    }

    public DispatcherObserver observer() {
        return observer;
    }

    public void watchPools(List<String> functions, Supplier<List<PoolSnapshot>> source) {
        pools = new PoolGauges(registry, functions, source);
    }

    public void watchCapacity(List<String> functions, Supplier<List<CapacitySnapshot>> source) {
        capacity = new CapacityGauges(registry, functions, source);
    }

    public void watchClients(Supplier<ClientSnapshot> source) {
        client(Meters.CLIENT_MEMORY, source, ClientSnapshot::heldBytes);
        client(Meters.CLIENT_MEMORY_LIMIT, source, ClientSnapshot::limitBytes);
        client(Meters.CLIENT_MEMORY_LEVEL, source, ClientSnapshot::level);
    }

    private void client(Meters meter, Supplier<ClientSnapshot> source, ToDoubleFunction<ClientSnapshot> part) {
        Gauge.builder(meter.title(), source, s -> part.applyAsDouble(s.get()))
                .description(meter.description())
                .baseUnit(meter.unit())
                .strongReference(true)
                .register(registry);
    }

    public void watchReadiness(BooleanSupplier ready) {
        Gauge.builder(Meters.READY.title(), ready, r -> r.getAsBoolean() ? 1 : 0)
                .description(Meters.READY.description())
                .strongReference(true)
                .register(registry);
    }

    public void watchAccessLog(AccessLog accessLog) {
        FunctionCounter.builder(Meters.ACCESS_LOG_DROPPED.title(), accessLog, AccessLog::dropped)
                .description(Meters.ACCESS_LOG_DROPPED.description())
                .register(registry);
    }

    /** In Prometheus text format. */
    public String scrape() {
        PoolGauges gauges = pools;
        if (gauges != null) {
            gauges.refresh();
        }
        CapacityGauges launching = capacity;
        if (launching != null) {
            launching.refresh();
        }
        return registry.scrape();
    }

    @Override
    public void close() {
        garbageCollection.close();
        registry.close();
        clock.close();
    }
}
