package io.lambdadispatcher.micrometer;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.BreakerState;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.ClientSnapshot;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.FilterEvent;
import io.lambdadispatcher.core.observe.FilterGauge;
import io.lambdadispatcher.core.observe.FleetSnapshot;
import io.lambdadispatcher.core.observe.FleetSnapshot.FunctionSlots;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.lambdadispatcher.core.observe.ProcessSnapshot;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.observe.RolloutSnapshot;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.net.SocketAddress;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * Reports the metrics of one dispatcher to a Micrometer registry of the embedding program. {@code
 * docs/reference/metrics.md} lists them.
 *
 * <pre>{@code
 * DispatcherMetrics metrics = new DispatcherMetrics(registry);
 * Dispatcher dispatcher = Dispatcher.builder()
 *         .function(FunctionOptions.builder("images").build())
 *         .publicListener(ListenerOptions.plain("127.0.0.1", 8080))
 *         .workerListener(ListenerOptions.workers("127.0.0.1", 8081))
 *         .secret(secret)
 *         .observer(metrics)
 *         .start();
 * metrics.watch(dispatcher);
 * }</pre>
 *
 * <p>The meters of a function are looked up once, so counting a request allocates nothing. Requests
 * that match no route have the function {@code none}. Any thread.
 */
public final class DispatcherMetrics implements DispatcherObserver {
    private static final double NANOS_PER_SECOND = 1e9;

    /** The function's name for requests that match no route. */
    private static final String NO_FUNCTION = "none";

    private final MeterRegistry registry;
    private final Map<String, FunctionMeters> functions = new ConcurrentHashMap<>();
    private final LongAdder clientsConnected = new LongAdder();
    private final LongAdder clientsDisconnected = new LongAdder();
    /** How many incidents go on, by kind and function. */
    private final Map<List<Object>, AtomicInteger> incidents = new ConcurrentHashMap<>();

    private final ExchangeListener listener = this::count;
    private final Counter workerRejections;
    private final Counter[] protections = new Counter[Protection.values().length];

    /**
     * Registers the meters that belong to no function. The others are registered when a function is
     * first used.
     *
     * @param registry not closed by this object
     */
    public DispatcherMetrics(MeterRegistry registry) {
        this.registry = registry;
        workerRejections = Counter.builder(Meters.WORKER_REJECTIONS.title())
                .description(Meters.WORKER_REJECTIONS.description())
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
        Gauge.builder(Meters.CLIENT_CONNECTIONS.title(), this, DispatcherMetrics::clientsNow)
                .description(Meters.CLIENT_CONNECTIONS.description())
                .register(registry);
    }

    /**
     * Registers the gauges of workers, launches and clients, and those of the fleet if the
     * dispatcher is in one. Call it once, with the started dispatcher that this object observes.
     * Gauges of workers and launches show values that are at most 0.5 s old.
     */
    public void watch(Dispatcher dispatcher) {
        List<String> functions =
                dispatcher.pools().stream().map(PoolSnapshot::function).toList();
        watch(functions, dispatcher::pools, dispatcher::capacity, dispatcher::clients);
        watchProcess(dispatcher::process);
        dispatcher.filterGauges().forEach(this::watch);
        if (dispatcher.fleet() != null) {
            watchFleet(functions, () -> Objects.requireNonNull(dispatcher.fleet()));
        }
    }

    void watchProcess(Supplier<ProcessSnapshot> process) {
        gauge(Meters.LOOP_LAG, process, seen -> seen.loopLagNanos() / NANOS_PER_SECOND);
        FunctionCounter.builder(
                        Meters.CPU_THROTTLED.title(),
                        process,
                        seen -> Math.max(0, seen.get().throttledNanos()) / NANOS_PER_SECOND)
                .description(Meters.CPU_THROTTLED.description())
                .register(registry);
    }

    void watch(FilterGauge measured) {
        String name = Meters.PREFIX + measured.name();
        if (measured.rises()) {
            FunctionCounter.builder(name, this, self -> measured.value().getAsDouble())
                    .description(measured.description())
                    .baseUnit(measured.unit())
                    .register(registry);
        } else {
            Gauge.builder(name, measured, its -> its.value().getAsDouble())
                    .description(measured.description())
                    .baseUnit(measured.unit())
                    .strongReference(true)
                    .register(registry);
        }
    }

    private void watchFleet(List<String> functions, Supplier<FleetSnapshot> fleet) {
        gauge(Meters.FLEET_MEMBERS, fleet, seen -> alive(seen, true));
        gauge(Meters.FLEET_MEMBERS_SILENT, fleet, seen -> alive(seen, false));
        gauge(Meters.FLEET_LEASE_AGE, fleet, DispatcherMetrics::leaseAgeSeconds);
        gauge(Meters.FLEET_LEASE_VALID, fleet, seen -> seen.leaseValid() ? 1 : 0);
        gauge(Meters.FLEET_ENTRIES_UNREADABLE, fleet, seen -> seen.unreadable().size());
        FunctionSnapshots<FunctionSlots> slots =
                new FunctionSnapshots<>(() -> fleet.get().functions(), FunctionSlots::function);
        for (String function : functions) {
            gauge(Meters.FLEET_WORKERS, function, slots, FunctionSlots::workers);
            gauge(Meters.FLEET_WORKERS_REPLACED, function, slots, FunctionSlots::replaced);
            gauge(Meters.FLEET_WORKERS_RESERVED, function, slots, FunctionSlots::reserved);
            gauge(Meters.FLEET_LIMITS_DIFFER, function, slots, seen -> seen.conflict() == null ? 0 : 1);
        }
    }

    private static long alive(FleetSnapshot fleet, boolean alive) {
        return fleet.members().stream()
                .filter(member -> member.alive() == alive)
                .count();
    }

    private static int rollout(CapacitySnapshot seen) {
        RolloutSnapshot rollout = seen.rollout();
        return rollout == null
                ? 0
                : switch (rollout.state()) {
                    case STEADY -> 0;
                    case WATCHING -> 1;
                    case ROLLING -> 2;
                    case STOPPED -> 3;
                };
    }

    private static double advisedBase(CapacitySnapshot seen) {
        return seen.advisedBase() == null ? Double.NaN : seen.advisedBase().concurrency();
    }

    private static double leaseAgeSeconds(FleetSnapshot fleet) {
        return fleet.leaseAgeMillis() < 0 ? Double.NaN : fleet.leaseAgeMillis() / 1000.0;
    }

    void watch(
            List<String> functions,
            Supplier<List<PoolSnapshot>> pools,
            Supplier<List<CapacitySnapshot>> capacity,
            Supplier<ClientSnapshot> clients) {
        FunctionSnapshots<PoolSnapshot> workers = new FunctionSnapshots<>(pools, PoolSnapshot::function);
        FunctionSnapshots<CapacitySnapshot> launching = new FunctionSnapshots<>(capacity, CapacitySnapshot::function);
        for (String function : functions) {
            gauge(Meters.WORKERS, function, workers, PoolSnapshot::workers);
            gauge(Meters.WORKERS_READY, function, workers, PoolSnapshot::readyWorkers);
            gauge(Meters.WORKERS_READY_BASE, function, workers, PoolSnapshot::readyBaseWorkers);
            gauge(Meters.WORKERS_EJECTED, function, workers, PoolSnapshot::ejectedWorkers);
            gauge(Meters.WORKER_STREAMS, function, workers, PoolSnapshot::streams);
            gauge(Meters.WORKER_STREAMS_FREE, function, workers, PoolSnapshot::free);
            gauge(Meters.QUEUED, function, workers, PoolSnapshot::queued);
            gauge(Meters.WORKERS_DESIRED, function, launching, CapacitySnapshot::desired);
            gauge(Meters.WORKERS_STARTING, function, launching, CapacitySnapshot::starting);
            gauge(Meters.WORKERS_DRAINING, function, launching, CapacitySnapshot::draining);
            gauge(Meters.LAUNCHES_BLOCKED, function, launching, seen -> seen.blockedReason() == null ? 0 : 1);
            gauge(Meters.ROLLOUT, function, launching, DispatcherMetrics::rollout);
            gauge(Meters.BASE_ADVISED, function, launching, DispatcherMetrics::advisedBase);
            FunctionCounter.builder(
                            Meters.SPENDING.title(),
                            launching,
                            seen -> seen.value(function, CapacitySnapshot::gbSecondsTotal))
                    .description(Meters.SPENDING.description())
                    .tag("function", function)
                    .register(registry);
        }
        gauge(Meters.CLIENT_MEMORY, clients, ClientSnapshot::heldBytes);
        gauge(Meters.CLIENT_MEMORY_LIMIT, clients, ClientSnapshot::limitBytes);
        gauge(Meters.CLIENT_MEMORY_LEVEL, clients, ClientSnapshot::level);
    }

    private <T> void gauge(
            Meters meter, String function, FunctionSnapshots<T> snapshots, Function<T, ? extends Number> part) {
        Gauge.builder(meter.title(), snapshots, seen -> seen.value(function, part))
                .description(meter.description())
                .tag("function", function)
                .strongReference(true)
                .register(registry);
    }

    private <T> void gauge(Meters meter, Supplier<T> source, ToDoubleFunction<T> part) {
        Gauge.builder(meter.title(), source, seen -> part.applyAsDouble(seen.get()))
                .description(meter.description())
                .baseUnit(meter.unit())
                .strongReference(true)
                .register(registry);
    }

    private double clientsNow() {
        // Read the disconnected clients first. Otherwise, a client that connects and disconnects in
        // between could make the result negative.
        long gone = clientsDisconnected.sum();
        return Math.max(0, clientsConnected.sum() - gone);
    }

    private FunctionMeters meters(String function) {
        FunctionMeters meters = functions.get(function);
        return meters != null ? meters : functions.computeIfAbsent(function, f -> new FunctionMeters(registry, f));
    }

    @Override
    public ExchangeListener onExchangeStart(ExchangeStart start) {
        return listener;
    }

    private void count(ExchangeEnd end) {
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
        workerRejections.increment();
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
    public void onFilterEvent(@Nullable String function, FilterEvent event) {
        meters(function == null ? NO_FUNCTION : function).filterReported(event);
    }

    @Override
    public void onLaunch(String function, String workerId, String reason) {
        meters(function).launched();
    }

    @Override
    public void onBreaker(String function, String breaker, BreakerState state, String reason) {
        meters(function).breakerChanged(breaker, state);
    }

    @Override
    public void onIncident(Incident incident) {
        incidents
                .computeIfAbsent(List.of(incident.kind(), incident.function()), key -> {
                    AtomicInteger open = new AtomicInteger();
                    Gauge.builder(Meters.INCIDENTS.title(), open, AtomicInteger::get)
                            .description(Meters.INCIDENTS.description())
                            .tag("kind", incident.kind().name().toLowerCase(Locale.ROOT))
                            .tag("function", incident.function().isEmpty() ? NO_FUNCTION : incident.function())
                            .strongReference(true)
                            .register(registry);
                    return open;
                })
                .addAndGet(incident.isOver() ? -1 : 1);
    }

    @Override
    public void onLaunchEnd(String function, String workerId, boolean failed, String detail) {
        meters(function).launchEnded(failed);
    }
}
