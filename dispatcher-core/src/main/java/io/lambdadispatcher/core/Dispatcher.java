package io.lambdadispatcher.core;

import io.lambdadispatcher.core.internal.assembly.Secrets;
import io.lambdadispatcher.core.internal.direct.DirectFunction;
import io.lambdadispatcher.core.internal.embed.EmbeddedExchange;
import io.lambdadispatcher.core.internal.engine.Descriptors;
import io.lambdadispatcher.core.internal.engine.Engine;
import io.lambdadispatcher.core.internal.engine.Observers;
import io.lambdadispatcher.core.internal.engine.TlsContexts;
import io.lambdadispatcher.core.internal.exchange.ExchangeOpener;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.fleet.BudgetLimits;
import io.lambdadispatcher.core.internal.fleet.FleetMember;
import io.lambdadispatcher.core.internal.fleet.FleetTime;
import io.lambdadispatcher.core.internal.fleet.SignedLedger;
import io.lambdadispatcher.core.internal.ingress.PublicChannelInitializer;
import io.lambdadispatcher.core.internal.ingress.edge.ClientGuard;
import io.lambdadispatcher.core.internal.ingress.edge.CorsMemory;
import io.lambdadispatcher.core.internal.ingress.edge.ErrorAnswers;
import io.lambdadispatcher.core.internal.ingress.edge.HealthCheck;
import io.lambdadispatcher.core.internal.ingress.edge.IngressDrain;
import io.lambdadispatcher.core.internal.ingress.edge.TrustedHeaders;
import io.lambdadispatcher.core.internal.launch.LaunchSupervisor;
import io.lambdadispatcher.core.internal.launch.WorkerCommands;
import io.lambdadispatcher.core.internal.launch.WorkerInspection;
import io.lambdadispatcher.core.internal.launch.WorkerRegistry;
import io.lambdadispatcher.core.internal.loop.LoopFuture;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.internal.worker.PortIdentities;
import io.lambdadispatcher.core.internal.worker.WorkerPort;
import io.lambdadispatcher.core.observe.BreakerSnapshot;
import io.lambdadispatcher.core.observe.CacheSnapshot;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.ClientSnapshot;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.FleetSnapshot;
import io.lambdadispatcher.core.observe.LaunchHistory;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.lambdadispatcher.core.observe.RequestSnapshot;
import io.lambdadispatcher.core.observe.WorkerCommandResult;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.options.CachePolicy;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.core.options.Transport;
import io.lambdadispatcher.core.request.DispatchException;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.ErrorRenderer;
import io.lambdadispatcher.core.spi.FunctionInvoker;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.RequestRouter;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http2.BlockedLoopWatch;
import io.lambdadispatcher.wire.http2.NettyRequirement;
import io.lambdadispatcher.wire.worker.HostPort;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.ssl.SslContext;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An HTTP server that passes each request to a worker, which has connected to it. {@link
 * Builder#start} opens the ports. {@link #close(Duration)} refuses new requests, finishes those in
 * flight, and ends the workers.
 *
 * <pre>{@code
 * Dispatcher dispatcher = Dispatcher.builder()
 *         .function(FunctionOptions.of("hello"))
 *         .publicListener(ListenerOptions.plain("0.0.0.0", 8080))
 *         .workerListener(ListenerOptions.workers("0.0.0.0", 8444))
 *         .secret(secret)
 *         .start();
 * }</pre>
 *
 * <p><b>Threading.</b> Any thread.
 */
public final class Dispatcher implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Dispatcher.class);
    private static final Duration LONGEST_GRACE = Duration.ofDays(366);

    /** Time in which the exits of the last workers are noticed. */
    private static final long LAST_EXITS_MILLIS = 100;

    /** Maximum time for the last writes to the ledger. */
    private static final long LAST_CHANGES_MILLIS = 2_000;

    /** Maximum time in which clients take the answers to requests that fail at the end. */
    private static final long LAST_ANSWERS_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final DispatcherObserver observer;
    private final @Nullable ErrorRenderer errorRenderer;
    private final @Nullable String failureHeader;
    private final @Nullable HealthCheck healthCheck;
    private final CorsMemory cors = new CorsMemory();
    private volatile PublicChannelInitializer.Rules rules;
    private Set<String> headersOfRouter;
    private volatile Secrets secrets;
    /** Whether the keys of the worker port follow from the secrets. Guarded by this dispatcher. */
    private boolean derivesPortKeys;

    private final Set<WorkerLauncher> launchers;
    private final @Nullable FunctionInvoker invoker;
    private final @Nullable Ledger ledger;
    private final Set<String> directFunctions;
    private final Engine engine;
    /** Of the functions whose workers are launched here. */
    private final Map<String, LaunchSupervisor> supervisors = new LinkedHashMap<>();

    private final WorkerRegistry registry = new WorkerRegistry(supervisors);
    /** {@code null} if the dispatcher is alone. It belongs to one event loop. */
    private final @Nullable FleetMember fleet;

    private final EventLoop fleetLoop;
    private final BlockedLoopWatch blockedLoops;
    private @Nullable Future<?> fleetTimer;
    private final IngressDrain publicSide = new IngressDrain();
    private final Descriptors descriptors;
    private final ClientGuard guard;
    private final List<Channel> publicPorts;
    private final List<PublicChannelInitializer> publicHandlers = new ArrayList<>();
    private final Channel workerPort;
    private final WorkerPort workerHandler;
    private final AtomicReference<@Nullable CompletableFuture<Void>> closing = new AtomicReference<>();

    private Dispatcher(Builder from, ListenerOptions workerListener) {
        observer = Observers.of(from.observers);
        errorRenderer = from.errorRenderer;
        failureHeader = from.failureHeader;
        healthCheck = from.healthCheck;
        launchers = from.allLaunchers();
        invoker = from.invoker;
        ledger = from.ledger;
        secrets = from.checkedSecrets();
        Map<String, DirectFunction> direct = from.directFunctions();
        from.warnOfUnreachableFunctions();
        directFunctions = Set.copyOf(direct.keySet());
        RequestRouter router = from.routerOrFirst();
        engine = new Engine(
                from.transport,
                from.eventLoopGroup,
                from.eventLoops,
                from.functions,
                direct,
                router,
                from.cacheMemoryBytes,
                observer);
        if (from.ledger != null) {
            engine.pools().values().forEach(FunctionPool::setShared);
        }
        headersOfRouter = router.requestHeaders();
        rules = rules(from.limits, from.forwarding);
        descriptors = Descriptors.ofProcess();
        int clientConnections = descriptors.forClients(from.limits, from.functions);
        int acceptsPerTurn = descriptors.acceptsPerTurn(clientConnections);
        guard = new ClientGuard(
                from.limits, clientConnections, engine.loopIndexes().keySet(), observer);
        engine.limitWaitingBy(guard::freeBytes);
        fleetLoop = engine.anyLoop();
        blockedLoops = BlockedLoopWatch.start(engine.loopIndexes().keySet(), log::warn);
        fleet = from.ledger == null ? null : memberOf(from.ledger);
        List<Channel> bound = new ArrayList<>();
        try {
            derivesPortKeys = workerListener.isForWorkers();
            PortIdentities identities = identities(workerListener.tls(), secrets, PortIdentities.NONE);
            superviseLaunches(from, direct, identities.fingerprints());
            workerHandler = workerPort(from, identities);
            bound.add(engine.listen(workerListener, workerHandler, acceptsPerTurn, worker -> true));
            for (ListenerOptions listener : from.publicListeners) {
                PublicChannelInitializer clients = publicPort(listener);
                publicHandlers.add(clients);
                bound.add(engine.listen(listener, clients, acceptsPerTurn, guard::onAccepted));
            }
            workerPort = bound.get(0);
            publicPorts = bound.subList(1, bound.size());
            startLaunches(from);
        } catch (RuntimeException | Error e) {
            supervisors.values().forEach(LaunchSupervisor::close);
            bound.forEach(port -> port.close().awaitUninterruptibly());
            blockedLoops.close();
            engine.shutdown(Duration.ZERO);
            throw e;
        }
    }

    private FleetMember memberOf(Ledger ledger) {
        FleetTime time = new SystemTime();
        SignedLedger signed = new SignedLedger(ledger, () -> secrets.common(), time::millis);
        return new FleetMember(signed, fleetLoop, time, new SecureRandom(), registry::setPeers);
    }

    private void startLaunches(Builder from) {
        from.history.forEach(earlier -> {
            LaunchSupervisor supervisor = supervisors.get(earlier.function());
            if (supervisor != null) {
                supervisor.restore(earlier, from.historyTaken);
            }
        });
        List<InetSocketAddress> advertisedAddresses = advertisedAddresses(from.advertisedAddresses);
        supervisors.values().forEach(supervisor -> supervisor.start(advertisedAddresses));
        if (fleet != null) {
            List<String> texts =
                    advertisedAddresses.stream().map(HostPort::text).toList();
            fleetLoop.execute(() -> fleet.describe(new FleetMember.MemberDescription(texts, from.zone, version())));
            fleetTimer = fleetLoop.scheduleAtFixedRate(fleet::tick, 0, 1, TimeUnit.SECONDS);
        }
    }

    private static String version() {
        String version = Dispatcher.class.getPackage().getImplementationVersion();
        return version == null ? "" : version;
    }

    private void superviseLaunches(Builder from, Map<String, DirectFunction> direct, List<String> fingerprints) {
        Map<String, WorkerLauncher> launcherOf = from.launcherOf();
        engine.pools().forEach((function, pool) -> {
            WorkerLauncher launcher = launcherOf.get(function);
            if (launcher != null && pool.options().capacity().maxWorkers() > 0) {
                supervisors.put(
                        function,
                        new LaunchSupervisor(
                                pool,
                                launcher,
                                registry,
                                fleet == null ? engine.anyLoop() : fleetLoop,
                                new LaunchSupervisor.Access(
                                        secrets.keys(function).get(0), fingerprints),
                                direct.get(function),
                                fleet,
                                observer));
            }
        });
    }

    private List<InetSocketAddress> advertisedAddresses(List<InetSocketAddress> given) {
        InetSocketAddress own = workerAddress();
        return given.isEmpty()
                ? List.of(own)
                : given.stream()
                        .map(address -> address.getPort() == 0
                                ? InetSocketAddress.createUnresolved(address.getHostString(), own.getPort())
                                : address)
                        .toList();
    }

    /** @param others if there are no files, and the keys do not follow from the secrets */
    private PortIdentities identities(@Nullable TlsOptions files, Secrets secrets, PortIdentities others) {
        if (files != null) {
            return TlsContexts.forWorkers(files);
        }
        return derivesPortKeys ? TlsContexts.forWorkers(secrets.common()) : others;
    }

    private WorkerPort workerPort(Builder from, PortIdentities identities) {
        return new WorkerPort(
                new WorkerPort.Access(
                        secrets::keys,
                        secrets.hint(),
                        identities,
                        from.pingInterval,
                        from.pingTimeout,
                        from.limits.headerTimeout(),
                        from.zone),
                engine.pools(),
                engine.loopIndexes(),
                registry,
                observer);
    }

    private PublicChannelInitializer publicPort(ListenerOptions listener) {
        TlsOptions tls = listener.tls();
        return clients(
                tls == null ? null : TlsContexts.forClients(tls),
                tls == null ? "http" : "https",
                listener.isProxyProtocol());
    }

    private PublicChannelInitializer clients(@Nullable SslContext tls, String scheme, boolean proxied) {
        Function<EventLoop, ExchangeOpener> openers = engine::opener;
        HealthCheck check = healthCheck;
        return new PublicChannelInitializer(
                () -> rules,
                tls,
                scheme,
                proxied,
                check == null ? openers : openers.andThen(check::before),
                observer,
                publicSide,
                guard);
    }

    private PublicChannelInitializer.Rules rules(HttpLimits limits, ForwardingPolicy forwarding) {
        Set<String> headers = new HashSet<>(headersOfRouter);
        engine.pools()
                .values()
                .forEach(pool -> headers.addAll(pool.options().traffic().requestHeaders()));
        return new PublicChannelInitializer.Rules(
                limits,
                new TrustedHeaders(forwarding, headers),
                new ErrorAnswers(errorRenderer, forwarding, failureHeader, cors));
    }

    /**
     * Starts a change of options while the dispatcher runs. Nothing changes before {@link
     * DispatcherChange#apply}.
     */
    public DispatcherChange change() {
        return new DispatcherChange(this);
    }

    /** Checks everything first, and then applies everything. */
    synchronized void apply(DispatcherChange change) {
        if (closing.get() != null) {
            throw new IllegalStateException("the dispatcher is closing or closed");
        }
        change.functions.values().forEach(this::requireChangeable);
        Map<PublicChannelInitializer, SslContext> publicTls = new LinkedHashMap<>();
        change.publicTls.forEach(
                (listener, tls) -> publicTls.put(publicHandler(listener), TlsContexts.forClients(tls)));
        Secrets changed = secrets.with(change.secrets, change.functionSecrets);
        changed.verify(engine.pools().keySet());
        WorkerPort.Access access = access(change, changed);

        if (change.router != null) {
            engine.setRouter(change.router);
            headersOfRouter = change.router.requestHeaders();
        }
        publicTls.forEach(PublicChannelInitializer::setTls);
        secrets = changed;
        derivesPortKeys &= change.workerTls == null;
        // Tokens are accepted before they are signed.
        workerHandler.setAccess(access);
        supervisors.forEach((function, supervisor) -> supervisor.setAccess(new LaunchSupervisor.Access(
                changed.keys(function).get(0), access.tls().fingerprints())));
        // New workers get tokens of the new secret.
        change.functions.values().forEach(this::applyOptions);
        HttpLimits limits = change.limits;
        if (limits != null) {
            List<FunctionOptions> functions =
                    engine.pools().values().stream().map(FunctionPool::options).toList();
            guard.setLimits(limits, descriptors.forClients(limits, functions));
        }
        rules = rules(
                limits == null ? rules.limits() : limits,
                change.forwarding == null ? rules.headers().policy() : change.forwarding);
    }

    private void requireChangeable(FunctionOptions to) {
        FunctionPool pool = engine.pools().get(to.name());
        if (pool == null) {
            throw new IllegalArgumentException("function: '" + to.name() + "', expected the name of one of "
                    + engine.pools().keySet());
        }
        FunctionOptions from = pool.options();
        if (to.connectionsPerWorker() != from.connectionsPerWorker()
                || to.streamsPerConnection() != from.streamsPerConnection()) {
            throw new IllegalArgumentException("function '" + to.name()
                    + "': expected the connections and streams of a worker not to change, because workers have them");
        }
        if (to.capacity().maxWorkers() > 0 && !supervisors.containsKey(to.name())) {
            throw new IllegalArgumentException("maxWorkers of function '" + to.name() + "': "
                    + to.capacity().maxWorkers() + ", expected 0, because this dispatcher does not launch its workers");
        }
        if (fleet != null) {
            Builder.requireRoomInLedger(to);
        }
    }

    private PublicChannelInitializer publicHandler(int listener) {
        if (listener < 0
                || listener >= publicHandlers.size()
                || !publicHandlers.get(listener).hasTls()) {
            throw new IllegalArgumentException(
                    "publicTls: listener " + listener + ", expected the index of a public listener that has TLS");
        }
        return publicHandlers.get(listener);
    }

    private WorkerPort.Access access(DispatcherChange change, Secrets secrets) {
        WorkerPort.Access from = workerHandler.access();
        TlsOptions tls = change.workerTls;
        if (tls != null && !from.tls().hasTls()) {
            throw new IllegalArgumentException("workerTls: expected a worker listener that has TLS already");
        }
        return new WorkerPort.Access(
                secrets::keys,
                secrets.hint(),
                tls == null && change.secrets == null ? from.tls() : identities(tls, secrets, from.tls()),
                from.pingInterval(),
                from.pingTimeout(),
                change.limits == null ? from.handshakeTimeout() : change.limits.headerTimeout(),
                from.zone());
    }

    private void applyOptions(FunctionOptions options) {
        engine.setOptions(options);
        LaunchSupervisor supervisor = supervisors.get(options.name());
        if (supervisor != null) {
            supervisor.setOptions(options);
        }
    }

    /**
     * Returns a handler that serves clients of channels that your program has accepted. Add it to
     * the end of the pipeline, behind TLS if there is any. It speaks HTTP/1.1 and, with prior
     * knowledge, HTTP/2. The channel must be registered with an event loop that was given to {@link
     * Builder#eventLoopGroup}. Sharable.
     *
     * @param secure whether the client uses TLS
     */
    public ChannelHandler clientHandler(boolean secure) {
        return clients(null, secure ? "https" : "http", false);
    }

    /** @throws IllegalStateException without Netty 4.2.16 or a newer 4.2 */
    public static Builder builder() {
        NettyRequirement.verify();
        return new Builder();
    }

    /**
     * Returns the addresses of the public ports that are bound, in the order of {@link
     * Builder#publicListener}.
     */
    public List<InetSocketAddress> publicAddresses() {
        return publicPorts.stream()
                .map(port -> (InetSocketAddress) port.localAddress())
                .toList();
    }

    /**
     * Returns the fingerprints of the worker port's public keys (RFC 7469 section 2.4), the one of
     * most connections first. Workers accept no other port. There is one for each secret, or that
     * of the certificate of {@link ListenerOptions#tls}, or none without TLS.
     */
    public List<String> workerFingerprints() {
        return workerHandler.access().tls().fingerprints();
    }

    /** Returns the address of the worker port that is bound. */
    public InetSocketAddress workerAddress() {
        return (InetSocketAddress) workerPort.localAddress();
    }

    /**
     * Returns whether every function can serve requests, and no close has begun. A function whose
     * workers are launched here can if at least {@code minWorkers} are ready, one whose workers
     * launch themselves if at least one is, and one with {@link Builder#direct} always. With a
     * {@code minWorkers} of 0, this is true without any worker, because a load balancer must let
     * the first request through, which launches one. {@link #pools} says how many are ready.
     */
    public boolean isReady() {
        return closing.get() == null && engine.pools().keySet().stream().allMatch(this::isReady);
    }

    private boolean isReady(String function) {
        FunctionPool pool = Objects.requireNonNull(engine.pools().get(function));
        boolean launched = supervisors.containsKey(function);
        int unlaunched = directFunctions.contains(function) ? 0 : 1;
        int required = launched ? pool.options().capacity().minWorkers() : unlaunched;
        return registry.snapshot(pool).readyWorkers() >= required;
    }

    /** Returns a snapshot of each function's pool, in the order of {@link Builder#function}. */
    public List<PoolSnapshot> pools() {
        return engine.pools().values().stream().map(registry::snapshot).toList();
    }

    /**
     * Returns each worker that was launched or connected here and has not exited. With 500 workers,
     * this takes a few milliseconds of the event loops, so do not call it often.
     *
     * @return completes on a thread of the dispatcher; exceptionally after {@link #close}
     */
    public CompletionStage<List<WorkerSnapshot>> workers() {
        List<CompletableFuture<List<WorkerSnapshot>>> parts = new ArrayList<>();
        try {
            engine.pools()
                    .forEach((name, pool) -> parts.add(WorkerInspection.of(pool, registry, supervisors.get(name))));
        } catch (RejectedExecutionException e) {
            return CompletableFuture.failedFuture(e);
        }
        return LoopFuture.of(
                fleetLoop,
                CompletableFuture.allOf(parts.toArray(CompletableFuture<?>[]::new))
                        .thenApply(all -> parts.stream()
                                .flatMap(part -> part.join().stream())
                                .toList()));
    }

    /**
     * Drains workers now. They finish their requests, get no new ones, and exit. If the traffic
     * needs replacements, these are launched afterwards, so requests may be queued meanwhile. Use
     * {@link #recycle} to replace workers first. A worker that shares several dispatchers leaves
     * all of them.
     *
     * @param which chooses the workers; called on a thread of the dispatcher
     * @return the chosen workers, each with what happens to it; completes on a thread of the
     *     dispatcher, and exceptionally if {@code which} throws and after {@link #close}
     */
    public CompletionStage<List<WorkerCommandResult>> drain(Predicate<WorkerSnapshot> which) {
        return command(which, WorkerCommands::drain);
    }

    /**
     * Replaces workers that this dispatcher has launched. Each drains when its replacement is
     * ready. At most a quarter of the workers of a function is replaced at a time, but at least
     * one. If replacements cannot be launched, or fail to start, the workers keep serving. A worker
     * that the traffic does not need drains without a replacement.
     *
     * @param which chooses the workers; called on a thread of the dispatcher
     * @return the chosen workers, each with what happens to it; completes on a thread of the
     *     dispatcher, and exceptionally if {@code which} throws and after {@link #close}
     */
    public CompletionStage<List<WorkerCommandResult>> recycle(Predicate<WorkerSnapshot> which) {
        return command(which, WorkerCommands::recycle);
    }

    private CompletionStage<List<WorkerCommandResult>> command(
            Predicate<WorkerSnapshot> which,
            BiFunction<WorkerCommands, List<WorkerSnapshot>, CompletableFuture<List<WorkerCommandResult>>> command) {
        Objects.requireNonNull(which, "which");
        WorkerCommands commands = new WorkerCommands(registry, supervisors);
        return workers()
                .thenCompose(all ->
                        command.apply(commands, all.stream().filter(which).toList()));
    }

    /**
     * Returns the requests that have not ended, the oldest first.
     *
     * @param limit maximum number of requests in the list, 1 or more
     * @return completes on a thread of the dispatcher; exceptionally after {@link #close}
     */
    public CompletionStage<List<RequestSnapshot>> requests(int limit) {
        if (limit < 1) {
            throw new IllegalArgumentException("limit: " + limit + ", expected 1 or more");
        }
        return LoopFuture.of(fleetLoop, engine.requests(limit));
    }

    /** Returns the memory of stored responses, or {@code null} if none was ever to be stored. */
    public @Nullable CacheSnapshot cache() {
        return engine.storedResponses().snapshot();
    }

    /** Forgets all stored responses. Those that are on their way are not stored. */
    public void clearCache() {
        engine.storedResponses().clear();
    }

    /** Returns what clients cost now. */
    public ClientSnapshot clients() {
        return guard.snapshot();
    }

    /**
     * Returns a snapshot of each function whose workers are launched here. It is at most a second
     * old.
     */
    public List<CapacitySnapshot> capacity() {
        return supervisors.values().stream().map(LaunchSupervisor::snapshot).toList();
    }

    /** Returns the fleet of {@link Builder#ledger}; {@code null} if this dispatcher is alone. */
    public @Nullable FleetSnapshot fleet() {
        return fleet == null ? null : fleet.snapshot();
    }

    /**
     * Returns what must not be forgotten when the dispatcher restarts, of each function whose
     * workers are launched here. It is at most a second old, and remains available after {@link
     * #close}. See {@link Builder#launchHistory}.
     */
    public List<LaunchHistory> launchHistory() {
        return supervisors.values().stream().map(LaunchSupervisor::history).toList();
    }

    /**
     * Switches launching of a function's workers on or off. Workers that are running keep serving.
     *
     * @throws IllegalArgumentException if this dispatcher does not launch the function's workers
     */
    public void setLaunching(String function, boolean launching) {
        supervisor(function).setLaunching(launching);
    }

    /**
     * Stops a change of a function's workers to another version. The old version keeps serving, and
     * workers of the new one are replaced, until {@link #resumeRollout} is called, or the launcher
     * names another version. Has no effect if no change is going on. See {@link
     * CapacitySnapshot#rollout}.
     *
     * @throws IllegalArgumentException if this dispatcher does not launch the function's workers
     */
    public void stopRollout(String function) {
        supervisor(function).stopRollout();
    }

    /**
     * Continues a stopped change of a function's workers to another version. A few workers get the
     * new version at first. Has no effect if no change was stopped.
     *
     * @throws IllegalArgumentException if this dispatcher does not launch the function's workers
     */
    public void resumeRollout(String function) {
        supervisor(function).resumeRollout();
    }

    /** Returns the state of each breaker that has opened since the dispatcher started. */
    public List<BreakerSnapshot> breakers() {
        return engine.breakers();
    }

    private LaunchSupervisor supervisor(String function) {
        LaunchSupervisor supervisor = supervisors.get(function);
        if (supervisor == null) {
            throw new IllegalArgumentException(
                    "function: " + function + ", expected one of those launched here: " + supervisors.keySet());
        }
        return supervisor;
    }

    /**
     * Sends a request of the embedding program. If it is called on one of the dispatcher's event
     * loops, the request stays on that loop.
     *
     * <p>Callbacks such as {@code thenApply} run on that event loop, unless the response has
     * arrived already. They must not block it, so {@code join()} and {@code get()} throw an
     * exception there. Callbacks such as {@code thenApplyAsync} run on the executor that they name.
     * See {@link #send} for code that waits.
     *
     * <p>The stage fails with {@link DispatchException}, or with the error with which the request's
     * body fails. Cancelling its {@code toCompletableFuture()} cancels the request. A response
     * whose body nobody subscribes to, discards or gathers within {@link HttpLimits#writeTimeout}
     * is cancelled.
     *
     * @throws IllegalArgumentException if a {@code host} header differs from the request's
     *     authority, or if {@code content-length} is not a number, or not 0 without a body
     */
    public CompletionStage<DispatchResponse> dispatch(DispatchRequest request) {
        Objects.requireNonNull(request, "request");
        if (closing.get() != null) {
            return CompletableFuture.failedFuture(EmbeddedExchange.exception(
                    new Failure(Failure.Kind.SHUTTING_DOWN, "the dispatcher is closing or closed")));
        }
        return engine.dispatch(request, rules.limits().writeTimeout());
    }

    /**
     * Sends a request as {@link #dispatch} does, and waits for the headers of the response. For
     * virtual threads, and for others that may wait. The code that follows runs on the same thread,
     * so a logging context or a {@code ScopedValue} stays as it is. To wait for the body, call for
     * example {@code bodyAsString().toCompletableFuture().join()}.
     *
     * @throws DispatchException if there is no response
     * @throws InterruptedException if the thread is interrupted. The request is cancelled then
     * @throws IllegalStateException on an event loop of the dispatcher, which would wait for itself
     * @throws IllegalArgumentException as {@link #dispatch} does
     * @throws CompletionException if the request's body fails with a checked exception
     */
    public DispatchResponse send(DispatchRequest request) throws InterruptedException {
        CompletableFuture<DispatchResponse> response = dispatch(request).toCompletableFuture();
        try {
            return response.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new CompletionException(e.getCause());
        } finally {
            // Has no effect if there is a response already.
            response.cancel(false);
        }
    }

    /**
     * Closes the dispatcher:
     * <ol>
     *   <li>It closes the public ports, and lets requests finish for up to half of {@code grace},
     *       those of {@link #dispatch} included. Such a request has finished when the embedding
     *       program has read the response's body.
     *   <li>It drains the workers for the rest of {@code grace}, which tells handlers to end long
     *       streams and tunnels. Their last bytes are sent, and read by the embedding program,
     *       within this time. Requests that are still queued when the workers have gone fail.
     *   <li>It fails what is left with status 503, unread responses included, and closes
     *       connections, launchers and invokers.
     * </ol>
     * Further calls return the same stage.
     *
     * @param grace time for requests and workers, 0 to 366 days. Launchers and invokers take their
     *     own time after it
     * @return completes when everything is closed, never exceptionally. What a launcher or an
     *     invoker throws is logged
     */
    public CompletionStage<Void> close(Duration grace) {
        if (Objects.requireNonNull(grace, "grace").isNegative() || grace.compareTo(LONGEST_GRACE) > 0) {
            throw new IllegalArgumentException("grace: " + grace + ", expected 0 to 366 days");
        }
        CompletableFuture<Void> done = new LoopFuture<>(fleetLoop);
        if (!closing.compareAndSet(null, done)) {
            return Objects.requireNonNull(closing.get());
        }
        supervisors.values().forEach(LaunchSupervisor::close);
        if (fleet != null) {
            try {
                fleetLoop.execute(fleet::beginLeaving);
            } catch (RejectedExecutionException e) {
                log.debug("the event loop of the fleet has ended, so other dispatchers find out by themselves");
            }
        }
        long deadlineNanos = System.nanoTime() + grace.toNanos();
        long clientsNanos = deadlineNanos - grace.toNanos() / 2;
        within(closePublicPorts(), clientsNanos)
                .thenCompose(closed -> within(publicSide.begin(), clientsNanos))
                .thenCompose(gone -> within(engine.quiet(), clientsNanos))
                .thenCompose(quiet -> within(
                        registry.drainAll(Duration.ofNanos(Math.max(0, deadlineNanos - System.nanoTime()))),
                        deadlineNanos))
                // No worker comes any more.
                .thenCompose(drained -> within(engine.failQueued(), deadlineNanos, true))
                .thenCompose(failed -> awaitLastBytes(deadlineNanos).thenApply(sent -> failed))
                .whenComplete((failed, error) -> closeRest(failed != null && failed, done));
        return done;
    }

    /**
     * Done before clients are told to go: who dials again is refused then. On a port that was still
     * to be closed it would be taken, and reset.
     */
    private CompletableFuture<Void> closePublicPorts() {
        return CompletableFuture.allOf(
                publicPorts.stream().map(Dispatcher::closed).toArray(CompletableFuture<?>[]::new));
    }

    private static CompletableFuture<Void> closed(Channel port) {
        CompletableFuture<Void> closed = new CompletableFuture<>();
        ChannelFuture close = port.close();
        if (close.isDone()) {
            // If the embedding program has ended the port's event loop, no listener is called.
            closed.complete(null);
        } else {
            close.addListener(done -> closed.complete(null));
        }
        return closed;
    }

    /**
     * Waits for the last bytes of streams that the workers have ended. They may be on their way to
     * a client's event loop or socket.
     */
    private CompletableFuture<Void> awaitLastBytes(long deadlineNanos) {
        return within(engine.quiet(), deadlineNanos).thenCompose(quiet -> within(publicSide.closed(), deadlineNanos));
    }

    /** Completes with {@code stage}, or at the deadline. */
    private static CompletableFuture<Void> within(CompletionStage<Void> stage, long deadlineNanos) {
        return stage.thenApply(Function.identity())
                .toCompletableFuture()
                .completeOnTimeout(null, leftNanos(deadlineNanos), TimeUnit.NANOSECONDS);
    }

    /** Completes with {@code stage}, or at the deadline with {@code late}. */
    private static CompletableFuture<Boolean> within(CompletionStage<Boolean> stage, long deadlineNanos, boolean late) {
        return stage.thenApply(Function.identity())
                .toCompletableFuture()
                .completeOnTimeout(late, leftNanos(deadlineNanos), TimeUnit.NANOSECONDS);
    }

    private static long leftNanos(long deadlineNanos) {
        return Math.max(1, deadlineNanos - System.nanoTime());
    }

    /**
     * Answers the requests that are left before their connections and the workers' close.
     *
     * @param failed whether others have just failed, and their answers may be on their way
     */
    private void closeRest(boolean failed, CompletableFuture<Void> done) {
        long deadlineNanos = System.nanoTime() + LAST_ANSWERS_NANOS;
        within(engine.failAll(), deadlineNanos, true)
                .thenCompose(any -> within(
                        any || failed ? publicSide.closed() : CompletableFuture.completedStage(null), deadlineNanos))
                .whenComplete((answered, error) -> {
                    registry.goodbyeAll("the dispatcher shuts down");
                    workerPort.close();
                    closeParts().whenComplete((closed, none) -> {
                        blockedLoops.close();
                        engine.shutdown(Duration.ofSeconds(2)).addListener(shut -> done.complete(null));
                    });
                });
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
            fleetLoop.schedule(
                    () -> member.leave().thenRun(() -> left.complete(null)), LAST_EXITS_MILLIS, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            left.complete(null);
        }
        return left.completeOnTimeout(null, LAST_CHANGES_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** Closes launchers and invokers concurrently, because each may wait for its workers. */
    private CompletableFuture<Void> closeParts() {
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

    private static void closeLogged(Object part, Runnable close) {
        try {
            close.run();
        } catch (Throwable e) {
            log.error("{} failed to close; the dispatcher continues to close", part, e);
        }
    }

    /**
     * Closes the dispatcher with a grace of 10 s, and waits until it is closed. See {@link
     * #close(Duration)}.
     *
     * @throws IllegalStateException on an event loop of the dispatcher, which would wait for itself
     */
    @Override
    public void close() {
        if (engine.loopIndexes().keySet().stream().anyMatch(EventLoop::inEventLoop)) {
            throw new IllegalStateException("close() called on " + Thread.currentThread()
                    + ", an event loop. On an event loop, call close(Duration)");
        }
        close(Duration.ofSeconds(10)).toCompletableFuture().join();
    }

    /** Collects the options of a dispatcher. Not thread-safe. {@link #start} validates. */
    public static final class Builder {
        final List<FunctionOptions> functions = new ArrayList<>();
        final List<ListenerOptions> publicListeners = new ArrayList<>();

        @Nullable
        ListenerOptions workerListener;

        @Nullable
        List<byte[]> secrets;

        final Map<String, List<byte[]>> functionSecrets = new HashMap<>();

        @Nullable
        WorkerLauncher launcher;

        @Nullable
        RequestRouter router;

        @Nullable
        ErrorRenderer errorRenderer;

        @Nullable
        String failureHeader;

        @Nullable
        HealthCheck healthCheck;

        @Nullable
        FunctionInvoker invoker;

        final Map<String, DirectOptions> direct = new HashMap<>();
        final Map<String, WorkerLauncher> launchers = new HashMap<>();
        List<InetSocketAddress> advertisedAddresses = List.of();
        List<LaunchHistory> history = List.of();

        @Nullable
        Ledger ledger;

        String zone = "";
        Instant historyTaken = Instant.EPOCH;
        HttpLimits limits = HttpLimits.defaults();
        ForwardingPolicy forwarding = ForwardingPolicy.defaults();
        final List<DispatcherObserver> observers = new ArrayList<>();
        Duration pingInterval = Duration.ofSeconds(2);
        Duration pingTimeout = Duration.ofSeconds(3);
        int eventLoops = Math.max(1, Runtime.getRuntime().availableProcessors());
        long cacheMemoryBytes = 64 * 1024 * 1024;
        Transport transport = Transport.nio();

        @Nullable
        EventLoopGroup eventLoopGroup;

        private Builder() {}

        /**
         * Adds a function. At least one is required. Without a {@link #router}, the first function
         * serves all requests.
         */
        public Builder function(FunctionOptions function) {
            functions.add(Objects.requireNonNull(function, "function"));
            return this;
        }

        /**
         * Adds a port for clients. Without any, requests reach the dispatcher only through {@link
         * Dispatcher#dispatch} and {@link Dispatcher#clientHandler}.
         */
        public Builder publicListener(ListenerOptions listener) {
            publicListeners.add(Objects.requireNonNull(listener, "publicListener"));
            return this;
        }

        /**
         * Sets the maximum memory of stored responses, in bytes of the heap. All functions share
         * it. It is used only if a {@link CachePolicy} stores responses. Default: 64 MiB.
         *
         * @param bytes 1 or more
         */
        public Builder cacheMemoryBytes(long bytes) {
            cacheMemoryBytes = bytes;
            return this;
        }

        /**
         * Sets the port that workers dial. Required. Use {@link ListenerOptions#workers}, unless
         * you have certificates for the port, or want no TLS.
         */
        public Builder workerListener(ListenerOptions listener) {
            workerListener = Objects.requireNonNull(listener, "workerListener");
            return this;
        }

        /**
         * Sets the addresses that launched workers dial. Port 0 stands for the worker listener's
         * port. Default: the worker listener's own address.
         */
        public Builder advertisedAddresses(List<InetSocketAddress> addresses) {
            advertisedAddresses = List.copyOf(addresses);
            return this;
        }

        /**
         * Sets the secret that the keys of all functions are derived from, at least 16 bytes. A key
         * signs the launch tokens of its function. Workers that launch themselves need the secret
         * or their function's key. The key of the worker port follows from the secret, too, so
         * anybody who reaches the port can test guesses: take random bytes. Default: random.
         *
         * @param others further secrets, whose tokens are accepted as well, so that the secret can
         *     be replaced while workers and other dispatchers still use another one
         */
        public Builder secret(byte[] bytes, byte[]... others) {
            secrets = copies(bytes, others);
            return this;
        }

        /** Sets the UTF-8 bytes of {@code text} with {@link #secret(byte[], byte[]...)}. */
        public Builder secret(String text) {
            return secret(text.getBytes(StandardCharsets.UTF_8));
        }

        /**
         * Sets the secret of one function, at least 16 bytes. Workers that hold it cannot take the
         * requests of other functions. Default: that of {@link #secret(byte[], byte[]...)}.
         *
         * @param others further secrets, whose tokens are accepted as well
         */
        public Builder secret(String function, byte[] bytes, byte[]... others) {
            functionSecrets.put(function, copies(bytes, others));
            return this;
        }

        static List<byte[]> copies(byte[] first, byte[][] others) {
            return Stream.concat(Stream.of(first), Stream.of(others))
                    .map(byte[]::clone)
                    .toList();
        }

        /**
         * Sets the launcher of all functions that have no launcher of their own. Functions without
         * a launcher have self-launched workers. The dispatcher closes the launcher.
         */
        public Builder launcher(WorkerLauncher value) {
            launcher = Objects.requireNonNull(value, "launcher");
            return this;
        }

        /**
         * Sets the launcher of one function. One launcher may serve several functions. The
         * dispatcher closes it.
         */
        public Builder launcher(String function, WorkerLauncher value) {
            launchers.put(function, Objects.requireNonNull(value, "launcher"));
            return this;
        }

        /**
         * Lets a function serve requests by direct invocations, either all of them or those that
         * find no worker in time. It requires an {@link #invoker}.
         */
        public Builder direct(String function, DirectOptions options) {
            direct.put(function, Objects.requireNonNull(options, "direct"));
            return this;
        }

        /** Sets what invokes the functions of {@link #direct}. The dispatcher closes it. */
        public Builder invoker(FunctionInvoker value) {
            invoker = Objects.requireNonNull(value, "invoker");
            return this;
        }

        /**
         * Continues the launch rate, the spending of the last hour and the kill switches of a
         * previous dispatcher. Default: everything starts from zero, and every function launches.
         *
         * @param taken when {@link Dispatcher#launchHistory} was called
         * @param history its result. Functions that are not known here are ignored
         */
        public Builder launchHistory(Instant taken, List<LaunchHistory> history) {
            historyTaken = Objects.requireNonNull(taken, "taken");
            this.history = List.copyOf(history);
            return this;
        }

        /**
         * Makes this dispatcher a member of a fleet: all dispatchers that use the same entries of
         * the ledger. The limits of {@link FunctionOptions#capacity} and {@link
         * FunctionOptions#launching} then hold for all members together, and each worker serves all
         * of them. They need the same {@link #secret}, and should have the same functions and
         * limits. The kill switch and what has been spent are in the ledger, so {@link
         * #launchHistory} is not for members. The dispatcher closes the ledger. Default: the
         * dispatcher is alone.
         */
        public Builder ledger(Ledger value) {
            ledger = Objects.requireNonNull(value, "ledger");
            return this;
        }

        /**
         * Sets the availability zone of this dispatcher, as workers name theirs: on Lambda, the id
         * of the zone, such as {@code use1-az1}. Workers in the same zone get requests first.
         * Default: none.
         */
        public Builder zone(String value) {
            zone = Objects.requireNonNull(value, "zone");
            return this;
        }

        /**
         * Sets what makes the bodies of the dispatcher's own error responses. Default: one line of
         * text. See {@link ErrorRenderer#problemJson} for JSON.
         */
        public Builder errorRenderer(ErrorRenderer value) {
            errorRenderer = Objects.requireNonNull(value, "errorRenderer");
            return this;
        }

        /**
         * Sets the header of the dispatcher's own error responses that holds the token of the
         * failure, for example {@code queue_timeout}. Default: they have no such header.
         *
         * @param name in lower case, for example {@code x-dispatcher-failure}
         * @throws IllegalArgumentException if it is not a header name in lower case
         */
        public Builder failureHeader(String name) {
            if (!HeaderSyntax.isToken(name) || !name.equals(name.toLowerCase(Locale.ROOT))) {
                throw new IllegalArgumentException(
                        "failureHeader: \"" + name + "\", expected a header name in lower case");
            }
            failureHeader = name;
            return this;
        }

        /**
         * Sets which requests to the public ports are health checks. The dispatcher answers them
         * with 200 or 503. They reach no function, keep no worker alive, and are not observed.
         * Default: none are.
         *
         * @param path of the requests, without a query
         * @param userAgent beginning of their header {@code user-agent}; empty = any
         * @param ready whether the answer is 200, for example {@link Dispatcher#isReady}. Called on
         *     event loops
         * @throws IllegalArgumentException if {@code path} does not start with {@code /}, or has a
         *     query
         */
        public Builder healthCheck(String path, String userAgent, BooleanSupplier ready) {
            if (!path.startsWith("/") || path.indexOf('?') >= 0) {
                throw new IllegalArgumentException(
                        "healthCheck: \"" + path + "\", expected a path that starts with / and has no query");
            }
            healthCheck = new HealthCheck(path, userAgent, Objects.requireNonNull(ready, "ready"));
            return this;
        }

        /**
         * Sets what chooses the function of each request. Default: the first function serves all
         * requests.
         */
        public Builder router(RequestRouter value) {
            router = Objects.requireNonNull(value, "router");
            return this;
        }

        /** Sets limits and timeouts of client connections. Default: {@link HttpLimits#defaults}. */
        public Builder limits(HttpLimits value) {
            limits = Objects.requireNonNull(value, "limits");
            return this;
        }

        /**
         * Sets what handlers are told about clients. Default: {@link ForwardingPolicy#defaults}.
         */
        public Builder forwarding(ForwardingPolicy value) {
            forwarding = Objects.requireNonNull(value, "forwarding");
            return this;
        }

        /**
         * Adds an observer. Observers are told of everything in the order in which they were added,
         * even if one of them throws.
         */
        public Builder observer(DispatcherObserver value) {
            observers.add(Objects.requireNonNull(value, "observer"));
            return this;
        }

        /**
         * Sets how lost workers are detected. A connection is pinged after {@code interval} without
         * traffic, and closed if there is no answer within {@code timeout}. Default: 2 s and 3 s.
         *
         * @param interval 1 ms to 2,147,483,647 ms
         * @param timeout 1 ms to 2,147,483,647 ms
         */
        public Builder liveness(Duration interval, Duration timeout) {
            requireMillis("liveness interval", interval);
            requireMillis("liveness timeout", timeout);
            pingInterval = interval;
            pingTimeout = timeout;
            return this;
        }

        private static void requireMillis(String name, Duration value) {
            // Not toMillis(), which fails for the longest durations.
            if (value.compareTo(Duration.ofMillis(1)) < 0
                    || value.compareTo(Duration.ofMillis(Integer.MAX_VALUE)) > 0) {
                throw new IllegalArgumentException(
                        name + ": " + value + ", expected 1 ms to " + Integer.MAX_VALUE + " ms");
            }
        }

        /**
         * Sets the number of event loops, each of which is a thread. Default: the number of
         * processors.
         */
        public Builder eventLoops(int count) {
            eventLoops = count;
            return this;
        }

        /**
         * Uses all event loops of your program's group, and never shuts them down. Their I/O must
         * be that of {@link #transport}. Default: the dispatcher has event loops of its own, see
         * {@link #eventLoops}.
         */
        public Builder eventLoopGroup(EventLoopGroup value) {
            eventLoopGroup = Objects.requireNonNull(value, "eventLoopGroup");
            return this;
        }

        /** Sets how sockets are served. Default: NIO. */
        public Builder transport(Transport value) {
            transport = Objects.requireNonNull(value, "transport");
            return this;
        }

        /**
         * Opens the ports and begins to launch workers. {@link Dispatcher#isReady} tells when
         * enough of them are ready.
         *
         * @throws IllegalArgumentException if an option is missing or contradicts another
         * @throws java.io.UncheckedIOException if a port cannot be bound or a certificate cannot be
         *     read
         */
        public Dispatcher start() {
            ListenerOptions workers = workerListener;
            if (workers == null) {
                throw new IllegalArgumentException("workerListener: not set, expected the address that workers dial");
            }
            if (workers.isProxyProtocol()) {
                throw new IllegalArgumentException(
                        "workerListener: withProxyProtocol() is set, expected it only for public listeners");
            }
            if (publicListeners.stream().anyMatch(ListenerOptions::isForWorkers)) {
                throw new IllegalArgumentException(
                        "publicListener: ListenerOptions.workers(...), expected plain(...) or tls(...)");
            }
            if (functions.isEmpty()) {
                throw new IllegalArgumentException("function: not set, expected at least one function");
            }
            long names =
                    functions.stream().map(FunctionOptions::name).distinct().count();
            if (names < functions.size()) {
                throw new IllegalArgumentException("function: expected different names, got "
                        + functions.stream().map(FunctionOptions::name).toList());
            }
            if (cacheMemoryBytes < 1) {
                throw new IllegalArgumentException("cacheMemoryBytes: " + cacheMemoryBytes + ", expected 1 or more");
            }
            if (eventLoops < 1) {
                throw new IllegalArgumentException("eventLoops: " + eventLoops + ", expected 1 or more");
            }
            if (ledger != null && secrets == null) {
                throw new IllegalArgumentException("secret: not set, expected the secret of all members of the fleet");
            }
            if (ledger != null && !history.isEmpty()) {
                throw new IllegalArgumentException(
                        "launchHistory: set for a member of a fleet, expected none, because the ledger has it");
            }
            functions.stream().filter(each -> ledger != null).forEach(Builder::requireRoomInLedger);
            launchers.keySet().forEach(function -> requireConfigured("launcher", function));
            functions.forEach(this::requireLauncher);
            return new Dispatcher(this, workers);
        }

        private static void requireRoomInLedger(FunctionOptions function) {
            int max = function.capacity().maxWorkers();
            if (max > BudgetLimits.MOST_WORKERS) {
                throw new IllegalArgumentException("maxWorkers of function '" + function.name() + "': " + max
                        + ", expected at most " + BudgetLimits.MOST_WORKERS
                        + " in a fleet, because one entry of the ledger names all of them");
            }
        }

        private Set<WorkerLauncher> allLaunchers() {
            Set<WorkerLauncher> all = Collections.newSetFromMap(new IdentityHashMap<>());
            all.addAll(launchers.values());
            if (launcher != null) {
                all.add(launcher);
            }
            return all;
        }

        private Map<String, WorkerLauncher> launcherOf() {
            Map<String, WorkerLauncher> all = new HashMap<>(launchers);
            for (FunctionOptions function : functions) {
                if (launcher != null) {
                    all.putIfAbsent(function.name(), launcher);
                }
            }
            return all;
        }

        private Map<String, DirectFunction> directFunctions() {
            Map<String, DirectFunction> all = new HashMap<>();
            direct.forEach((name, options) -> {
                requireConfigured("direct", name);
                if (invoker == null) {
                    throw new IllegalArgumentException(
                            "invoker: not set, expected an invoker for the direct function '" + name + "'");
                }
                all.put(name, new DirectFunction(name, options, invoker));
            });
            return all;
        }

        private void warnOfUnreachableFunctions() {
            for (FunctionOptions function : functions) {
                String name = function.name();
                boolean launched = function.capacity().maxWorkers() > 0;
                if (secrets == null && !launched && !direct.containsKey(name) && !functionSecrets.containsKey(name)) {
                    log.warn(
                            "no secret is set, so the dispatcher has a random one, and no worker of function {} can"
                                    + " connect, because nothing launches it. Call secret()",
                            name);
                }
            }
        }

        private Secrets checkedSecrets() {
            Secrets all = Secrets.of(secrets, functionSecrets);
            all.verify(functions.stream().map(FunctionOptions::name).collect(Collectors.toSet()));
            return all;
        }

        private void requireLauncher(FunctionOptions function) {
            int max = function.capacity().maxWorkers();
            if (max > 0 && launcher == null && !launchers.containsKey(function.name())) {
                throw new IllegalArgumentException("launcher: not set for function '" + function.name()
                        + "', expected a launcher because maxWorkers is " + max);
            }
        }

        private void requireConfigured(String what, String name) {
            if (functions.stream().noneMatch(function -> function.name().equals(name))) {
                throw new IllegalArgumentException(
                        what + ": '" + name + "', expected the name of one of the functions");
            }
        }

        private RequestRouter routerOrFirst() {
            if (router != null) {
                return router;
            }
            RouteTarget first = RouteTarget.of(functions.get(0).name());
            return head -> first;
        }
    }
}
