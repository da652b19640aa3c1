package io.lambdadispatcher.server.metrics;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Protection;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.net.SocketAddress;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** Counts what event loops report. Looks meters up once for each function; a request costs some adds and no allocation. */
public final class MicrometerObserver implements DispatcherObserver {
    /** For requests that no route matched. */
    private static final String NO_FUNCTION = "none";

    private final MeterRegistry registry;
    private final Map<String, FunctionMeters> functions = new ConcurrentHashMap<>();
    private final LongAdder clientsConnected = new LongAdder();
    private final LongAdder clientsDisconnected = new LongAdder();
    private final Counter workerRejects;
    private final Counter[] protections = new Counter[Protection.values().length];

    public MicrometerObserver(MeterRegistry registry) {
        this.registry = registry;
        workerRejects = Counter.builder(Meters.WORKER_REJECTS.title())
                .description(Meters.WORKER_REJECTS.description())
                .register(registry);
        for (Protection protection : Protection.values()) {
            protections[protection.ordinal()] = Counter.builder(Meters.PROTECTIONS.title())
                    .description(Meters.PROTECTIONS.description())
                    .tag("protection", protection.name().toLowerCase(Locale.ROOT))
                    .register(registry);
        }
        FunctionCounter.builder(Meters.CLIENT_CONNECTIONS_ACCEPTED.title(), clientsConnected, LongAdder::sum)
                .description(Meters.CLIENT_CONNECTIONS_ACCEPTED.description())
                .register(registry);
        Gauge.builder(Meters.CLIENT_CONNECTIONS.title(), this, MicrometerObserver::clientsNow)
                .description(Meters.CLIENT_CONNECTIONS.description())
                .register(registry);
    }

    private double clientsNow() {
        // In this order: a client that comes and goes in between must not make it negative.
        long gone = clientsDisconnected.sum();
        return Math.max(0, clientsConnected.sum() - gone);
    }

    private FunctionMeters meters(String function) {
        FunctionMeters meters = functions.get(function);
        return meters != null ? meters : functions.computeIfAbsent(function, f -> new FunctionMeters(registry, f));
    }

    @Override
    public void onExchangeEnd(ExchangeEnd end) {
        String function = end.function();
        meters(function == null ? NO_FUNCTION : function).exchangeEnded(end);
    }

    @Override
    public void onClientConnected() {
        clientsConnected.increment();
    }

    @Override
    public void onClientDisconnected() {
        clientsDisconnected.increment();
    }

    @Override
    public void onWorkerConnected(String function, String workerId, SocketAddress remote, int streams) {
        meters(function).workerConnected();
    }

    @Override
    public void onWorkerDisconnected(String function, String workerId, boolean clean, String reason) {
        meters(function).workerDisconnected(clean);
    }

    @Override
    public void onWorkerRejected(SocketAddress remote, String reason) {
        workerRejects.increment();
    }

    @Override
    public void onWorkerLoad(String function, String workerId, int cpuPermille, int memoryPermille, int loopLagMicros) {
        meters(function).workerLoad(cpuPermille, memoryPermille, loopLagMicros);
    }

    @Override
    public void onProtection(Protection protection) {
        protections[protection.ordinal()].increment();
    }

    @Override
    public void onLaunch(String function, String workerId) {
        meters(function).launched();
    }

    @Override
    public void onLaunchEnd(String function, String workerId, boolean failed, String detail) {
        meters(function).launchEnded(failed);
    }
}
