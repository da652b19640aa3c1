package io.lambdadispatcher.server.metrics;

import io.lambdadispatcher.accesslog.AccessLog;
import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.micrometer.DispatcherMetrics;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.jvm.ClassLoaderMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.netty4.NettyAllocatorMetrics;
import io.micrometer.core.instrument.binder.system.FileDescriptorMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufAllocatorMetricProvider;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.net.URI;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The metrics of the dispatcher, of the JVM and of Netty's allocator, which {@code /metrics} shows
 * and a collector may receive. Thread-safe after {@link #watch}.
 */
public final class Metrics implements AutoCloseable {
    private final CoarseClock clock = new CoarseClock();
    private final PrometheusMeterRegistry shown =
            new PrometheusMeterRegistry(PrometheusConfig.DEFAULT, new PrometheusRegistry(), clock);
    private final MeterRegistry registry;
    private final DispatcherMetrics observer;
    private final Map<String, AtomicLong> certificates = new ConcurrentHashMap<>();
    private final JvmGcMetrics garbageCollection = new JvmGcMetrics();

    /** @param endpoint receives the metrics once a minute by OTLP; null = nobody does */
    public Metrics(@Nullable URI endpoint) {
        registry = endpoint == null
                ? shown // A composite would cost each recording an indirection.
                : new CompositeMeterRegistry(clock, List.of(shown, MetricsExport.registry(endpoint, clock)));
        observer = new DispatcherMetrics(registry);
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

    public void watch(Dispatcher dispatcher) {
        observer.watch(dispatcher);
    }

    public void watchReadiness(BooleanSupplier ready) {
        Gauge.builder("lambda.dispatcher.ready", ready, r -> r.getAsBoolean() ? 1 : 0)
                .description("1 if /ready answers 200, 0 if it answers 503")
                .strongReference(true)
                .register(registry);
    }

    public void watchAccessLog(AccessLog accessLog) {
        FunctionCounter.builder("lambda.dispatcher.access.log.dropped", accessLog, AccessLog::dropped)
                .description("Lines of the access log that were dropped")
                .register(registry);
    }

    /**
     * Sets when the certificate of a port expires.
     *
     * @param port the name of the port's settings
     */
    public void onCertificate(String port, Instant expiry) {
        certificates
                .computeIfAbsent(port, unknown -> {
                    AtomicLong seconds = new AtomicLong();
                    Gauge.builder("lambda.dispatcher.certificate.expiry.timestamp.seconds", seconds, AtomicLong::get)
                            .description("When the first certificate of a port's chain expires, as a Unix time")
                            .tag("port", port)
                            .register(registry);
                    return seconds;
                })
                .set(expiry.getEpochSecond());
    }

    /** Returns all metrics in Prometheus text format. */
    public String scrape() {
        return shown.scrape();
    }

    @Override
    public void close() {
        garbageCollection.close();
        if (registry instanceof CompositeMeterRegistry composite) {
            composite.getRegistries().forEach(MeterRegistry::close); // One sends what is left.
        }
        registry.close();
        clock.close();
    }
}
