package io.lambdadispatcher.core.internal.assembly;

import io.lambdadispatcher.core.internal.direct.DirectFunction;
import io.lambdadispatcher.core.internal.engine.Engine;
import io.lambdadispatcher.core.internal.fleet.FleetMember;
import io.lambdadispatcher.core.internal.fleet.FleetTime;
import io.lambdadispatcher.core.internal.fleet.MemberDescription;
import io.lambdadispatcher.core.internal.fleet.SignedLedger;
import io.lambdadispatcher.core.internal.launch.LaunchSupervisor;
import io.lambdadispatcher.core.internal.launch.WorkerCommands;
import io.lambdadispatcher.core.internal.launch.WorkerRegistry;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.internal.loop.LoopFuture;
import io.lambdadispatcher.core.internal.loop.Loops;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.FleetSnapshot;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.spi.FunctionInvoker;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.wire.worker.HostPort;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Ticker;
import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What launches workers: the functions' supervisors, the membership in a fleet, and the parts that
 * the embedding program has given to the dispatcher, which closes them. Any thread.
 */
public final class Launches {
    private static final Logger log = LoggerFactory.getLogger(Launches.class);

    /** Time in which the exits of the last workers are noticed. */
    private static final long LAST_EXITS_MILLIS = 100;

    /** Maximum time for the last writes to the ledger. */
    private static final long LAST_CHANGES_MILLIS = 2_000;

    /** Of the functions whose workers are launched here. */
    private final Map<String, LaunchSupervisor> supervisors = new LinkedHashMap<>();

    private final WorkerRegistry registry;
    private final Incidents incidents;
    private final Set<WorkerLauncher> launchers = Collections.newSetFromMap(new IdentityHashMap<>());
    private final @Nullable FunctionInvoker invoker;
    private final @Nullable Ledger ledger;
    private final Set<String> direct;
    /** The functions that have had their minimum of workers. */
    private final Set<String> complete = ConcurrentHashMap.newKeySet();

    private final EventLoop loop;
    /** {@code null} if the dispatcher is alone. It belongs to {@link #loop}. */
    private @Nullable FleetMember fleet;

    private @Nullable Future<?> fleetTimer;
    private final TakeoverRule takeover = new TakeoverRule(Ticker.systemTicker());

    Launches(BuilderOptions.Launching options, EventLoop loop, Incidents incidents) {
        this.loop = loop;
        this.incidents = incidents;
        registry = new WorkerRegistry(supervisors, incidents, Ticker.systemTicker());
        launchers.addAll(options.launchers.values());
        if (options.launcher != null) {
            launchers.add(options.launcher);
        }
        invoker = options.invoker;
        ledger = options.ledger;
        direct = Set.copyOf(options.direct.keySet());
    }

    /** Creates the supervisors, which do nothing before {@link #start}. */
    void supervise(
            BuilderOptions.Launching options,
            Engine engine,
            Map<String, DirectFunction> direct,
            WorkerSide workers,
            DispatcherObserver observer) {
        if (ledger != null) {
            FleetTime time = new SystemTime();
            SignedLedger signed =
                    new SignedLedger(ledger, () -> workers.secrets().common(), time::millis);
            fleet = new FleetMember(
                    signed, loop, time, new SecureRandom(), incidents, registry::setPeers, options.onBroadcast);
            engine.pools().values().forEach(FunctionPool::setShared);
        }
        engine.pools().forEach((function, pool) -> {
            WorkerLauncher launcher = options.launchers.getOrDefault(function, options.launcher);
            if (launcher != null && pool.options().capacity().maxWorkers() > 0) {
                supervisors.put(
                        function,
                        new LaunchSupervisor(
                                pool,
                                launcher,
                                registry,
                                fleet == null ? engine.anyLoop() : loop,
                                workers.launchAccess(function),
                                direct.get(function),
                                fleet,
                                observer,
                                incidents));
            }
        });
    }

    /** Begins to launch workers. The worker port is open. */
    void start(BuilderOptions options, InetSocketAddress workerAddress) {
        options.launching.history.forEach(earlier -> {
            LaunchSupervisor supervisor = supervisors.get(earlier.function());
            if (supervisor != null) {
                supervisor.restore(earlier, options.launching.historyTaken);
            }
        });
        List<InetSocketAddress> advertised = advertised(options.workers.advertisedAddresses, workerAddress);
        supervisors.values().forEach(supervisor -> supervisor.start(advertised));
        FleetMember member = fleet;
        if (member != null) {
            List<String> texts = advertised.stream().map(HostPort::text).toList();
            String zone = options.workers.zone;
            loop.execute(() -> member.describe(new MemberDescription(texts, zone, version())));
            fleetTimer = loop.scheduleAtFixedRate(member::tick, 0, 1, TimeUnit.SECONDS);
        }
    }

    private static List<InetSocketAddress> advertised(List<InetSocketAddress> given, InetSocketAddress own) {
        return given.isEmpty()
                ? List.of(own)
                : given.stream()
                        .map(address -> address.getPort() == 0
                                ? InetSocketAddress.createUnresolved(address.getHostString(), own.getPort())
                                : address)
                        .toList();
    }

    private static String version() {
        String version = Launches.class.getPackage().getImplementationVersion();
        return version == null ? "" : version;
    }

    public Map<String, LaunchSupervisor> supervisors() {
        return supervisors;
    }

    public WorkerRegistry registry() {
        return registry;
    }

    /** @throws IllegalArgumentException if the workers of the function are not launched here */
    public LaunchSupervisor supervisor(String function) {
        LaunchSupervisor supervisor = supervisors.get(function);
        if (supervisor == null) {
            throw new IllegalArgumentException(
                    "function: " + function + ", expected one of those launched here: " + supervisors.keySet());
        }
        return supervisor;
    }

    /**
     * Returns whether the function has the workers that it must have: its minimum at first, and one
     * afterwards. The dispatchers of a fleet share workers, so if the loss of one made them
     * unready, a load balancer would send requests to none.
     */
    public boolean isReady(FunctionPool pool) {
        String function = pool.options().name();
        int unlaunched = direct.contains(function) ? 0 : 1;
        int required =
                supervisors.containsKey(function) ? pool.options().capacity().minWorkers() : unlaunched;
        // Ejected workers would serve again if the others ended.
        int ready = registry.readyWorkers(function);
        if (ready >= required) {
            complete.add(function);
            return true;
        }
        return ready > 0 && complete.contains(function);
    }

    /** Returns whether clients are served here as well as by another dispatcher of the fleet. */
    boolean servesAsOthers(Collection<FunctionPool> pools) {
        FleetMember member = fleet;
        if (member == null) {
            return true;
        }
        Set<String> idle = new HashSet<>(supervisors.keySet());
        idle.removeIf(function -> direct.contains(function) || registry.readyWorkers(function) > 0);
        return takeover.accepts(
                member.snapshot(), pools.stream().allMatch(this::isReady), member.isLedgerFailing(), idle);
    }

    /** @return completes on {@code loop}; exceptionally after the end of the event loops */
    public CompletionStage<List<WorkerSnapshot>> workers(Collection<FunctionPool> pools) {
        List<CompletableFuture<List<WorkerSnapshot>>> parts = new ArrayList<>();
        try {
            for (FunctionPool pool : pools) {
                parts.add(registry.workers(pool, supervisors.get(pool.options().name())));
            }
        } catch (RejectedExecutionException e) {
            return CompletableFuture.failedFuture(e);
        }
        return LoopFuture.of(
                loop,
                CompletableFuture.allOf(parts.toArray(CompletableFuture<?>[]::new))
                        .thenApply(all -> parts.stream()
                                .flatMap(part -> part.join().stream())
                                .toList()));
    }

    public WorkerCommands commands() {
        return new WorkerCommands(registry, supervisors);
    }

    public @Nullable FleetSnapshot fleet() {
        return fleet == null ? null : fleet.snapshot();
    }

    /** @return completes when the ledger has it; at once without a fleet */
    public CompletionStage<Void> broadcast(String message) {
        FleetMember member = fleet;
        if (member == null) {
            return CompletableFuture.completedFuture(null);
        }
        try {
            return LoopFuture.of(
                    loop,
                    CompletableFuture.supplyAsync(() -> member.broadcast(message), loop)
                            .thenCompose(written -> written));
        } catch (RejectedExecutionException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    boolean isFleet() {
        return fleet != null;
    }

    /** Launches no more workers, and tells the fleet that this member leaves. */
    void stop() {
        supervisors.values().forEach(LaunchSupervisor::close);
        if (fleet != null) {
            if (!Loops.execute(loop, fleet::beginLeaving)) {
                log.debug("the event loop of the fleet has ended, so other dispatchers find out by themselves");
            }
        }
    }

    /** Closes launchers and invokers concurrently, because each may wait for its workers. */
    CompletableFuture<Void> close() {
        Executor threads = task -> new Thread(task, "dispatcher-close").start();
        Stream<Runnable> parts = launchers.stream().map(launcher -> () -> closeLogged(launcher, launcher::close));
        FunctionInvoker invokes = invoker;
        if (invokes != null) {
            parts = Stream.concat(parts, Stream.of(() -> closeLogged(invokes, invokes::close)));
        }
        return CompletableFuture.allOf(parts.map(part -> CompletableFuture.runAsync(part, threads))
                        .toArray(CompletableFuture<?>[]::new))
                .thenCompose(closed -> leaveFleet())
                .thenRunAsync(
                        () -> {
                            if (ledger != null) {
                                closeLogged(ledger, ledger::close);
                            }
                        },
                        threads);
    }

    /** Leaves the fleet when the last workers have ended, so that the ledger says so. */
    private CompletableFuture<Void> leaveFleet() {
        CompletableFuture<Void> left = new CompletableFuture<>();
        FleetMember member = fleet;
        if (member == null) {
            left.complete(null);
            return left;
        }
        if (fleetTimer != null) {
            // The event loop may outlive the dispatcher.
            fleetTimer.cancel(false);
        }
        try {
            loop.schedule(
                    () -> member.leave().thenRun(() -> left.complete(null)), LAST_EXITS_MILLIS, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            left.complete(null);
        }
        return left.completeOnTimeout(null, LAST_CHANGES_MILLIS, TimeUnit.MILLISECONDS);
    }

    private static void closeLogged(Object part, Runnable close) {
        try {
            close.run();
        } catch (Throwable e) {
            log.error("{} failed to close; the dispatcher continues to close", part, e);
        }
    }

    private static final class SystemTime implements FleetTime {
        @Override
        public long nanos() {
            return System.nanoTime();
        }

        @Override
        public long millis() {
            return System.currentTimeMillis();
        }
    }
}
