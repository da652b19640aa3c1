package io.lambdadispatcher.core.internal.assembly;

import io.lambdadispatcher.core.internal.direct.DirectFunction;
import io.lambdadispatcher.core.internal.engine.Engine;
import io.lambdadispatcher.core.internal.engine.Observers;
import io.lambdadispatcher.core.internal.engine.ProcessWatch;
import io.lambdadispatcher.core.internal.filter.RequestFilters;
import io.lambdadispatcher.core.internal.inprocess.InProcessWorker;
import io.lambdadispatcher.core.internal.launch.LaunchSupervisor;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ProcessSnapshot;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.spi.FunctionInvoker;
import io.lambdadispatcher.core.spi.RequestRouter;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.wire.http2.BlockedLoopWatch;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Ticker;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The parts of a dispatcher that serves. {@link Shutdown} closes them. Any thread. */
public final class DispatcherParts {
    private static final Logger log = LoggerFactory.getLogger(DispatcherParts.class);

    private final Engine engine;
    private final EventLoop anyLoop;
    private final BlockedLoopWatch blockedLoops;
    private final List<Future<?>> ticks;
    private final ProcessWatch process;
    private final ClientSide clients;
    private final WorkerSide workers;
    private final Map<String, InProcessWorker> inProcess = new HashMap<>();
    private final Launches launches;
    private final RequestFilters filters;

    /** @param undo receives what ends each part that has begun, the last one first */
    private DispatcherParts(BuilderOptions options, Deque<Runnable> undo) {
        DispatcherObserver observer = Observers.of(options.observers);
        Secrets secrets = Secrets.of(options.workers.secrets, options.workers.functionSecrets);
        secrets.verify(options.functions.stream().map(FunctionOptions::name).collect(Collectors.toSet()));
        Map<String, DirectFunction> direct = directFunctions(options.launching);
        RequestRouter router = routerOrFirst(options);
        filters = new RequestFilters(options.filters, options.functionFilters);
        engine = new Engine(
                options.transport,
                options.eventLoopGroup,
                options.eventLoops,
                options.functions,
                direct,
                router,
                filters,
                observer);
        undo.push(() -> engine.shutdown(Duration.ZERO));
        anyLoop = engine.anyLoop();
        blockedLoops = BlockedLoopWatch.start(engine.loopIndexes().keySet(), log::warn);
        Incidents incidents = new Incidents(observer, Ticker.systemTicker());
        engine.pools().values().forEach(pool -> pool.openWorkers().reportTo(incidents));
        ticks = List.of(
                anyLoop.scheduleAtFixedRate(incidents::tick, 1, 1, TimeUnit.SECONDS),
                anyLoop.scheduleAtFixedRate(engine::closeUnusedBreakers, 1, 1, TimeUnit.SECONDS));
        process = ProcessWatch.start(List.copyOf(engine.loopIndexes().keySet()), incidents);
        undo.push(this::closeWatches);
        clients = new ClientSide(options.clients, options.functions, router, engine, observer, incidents);
        launches = new Launches(options.launching, anyLoop, incidents);
        undo.push(() -> launches.supervisors().values().forEach(LaunchSupervisor::close));
        workers = new WorkerSide(
                options.workers, secrets, options.clients.limits, engine, launches.registry(), observer, incidents);
        launches.supervise(options.launching, engine, direct, workers, observer);
        ListenerOptions workerListener = Objects.requireNonNull(options.workers.listener);
        undoOpen(workers.listen(workerListener, engine, clients.acceptsPerTurn()), undo);
        for (ListenerOptions listener : options.clients.listeners) {
            undoOpen(clients.listen(listener), undo);
        }
        launches.start(options, workers.address());
        clients.acceptWhen(() -> launches.servesAsOthers(engine.pools().values()), anyLoop);
        options.workers.inProcess.forEach((function, base) -> {
            InProcessWorker worker = new InProcessWorker(
                    Objects.requireNonNull(engine.pools().get(function)), base, launches.registry(), observer);
            inProcess.put(function, worker);
            worker.start();
        });
    }

    /** @throws IllegalArgumentException if this process does not serve the function */
    public InProcessWorker inProcess(String function) {
        InProcessWorker worker = inProcess.get(function);
        if (worker == null) {
            throw new IllegalArgumentException("function: '" + function + "', expected one that this process serves");
        }
        return worker;
    }

    private static void undoOpen(Channel port, Deque<Runnable> undo) {
        undo.push(() -> port.close().awaitUninterruptibly());
    }

    /**
     * Opens the ports and begins to launch workers. If this fails, nothing is left open, and
     * launchers, invoker and ledger stay with the caller.
     *
     * @throws IllegalArgumentException if an option is missing or contradicts another
     * @throws java.io.UncheckedIOException if a port cannot be bound or a file cannot be read
     */
    public static DispatcherParts open(BuilderOptions options) {
        BuilderChecks.verify(options);
        Deque<Runnable> undo = new ArrayDeque<>();
        try {
            return new DispatcherParts(options, undo);
        } catch (RuntimeException | Error e) {
            undo.forEach(step -> runAfter(e, step));
            throw e;
        }
    }

    private static void runAfter(Throwable failure, Runnable step) {
        try {
            step.run();
        } catch (RuntimeException e) {
            failure.addSuppressed(e);
        }
    }

    private static Map<String, DirectFunction> directFunctions(BuilderOptions.Launching options) {
        Map<String, DirectFunction> all = new HashMap<>();
        options.direct.forEach((name, direct) -> {
            FunctionInvoker invoker = Objects.requireNonNull(options.invoker, "invoker");
            all.put(name, new DirectFunction(name, direct, invoker));
        });
        return all;
    }

    private static RequestRouter routerOrFirst(BuilderOptions options) {
        RouteTarget first = RouteTarget.of(options.functions.get(0).name());
        return options.clients.router == null ? head -> first : options.clients.router;
    }

    public Engine engine() {
        return engine;
    }

    public RequestFilters filters() {
        return filters;
    }

    /** Returns an event loop, always the same. */
    public EventLoop anyLoop() {
        return anyLoop;
    }

    public ProcessSnapshot process() {
        return process.snapshot();
    }

    /** Ends what looks after the event loops, which may outlive the dispatcher. */
    void closeWatches() {
        blockedLoops.close();
        ticks.forEach(each -> each.cancel(false));
        process.close();
        // The program may have ended the event loops on which these workers would do so.
        inProcess.values().forEach(InProcessWorker::closeWatch);
    }

    /** Closes what the program has given to the dispatcher. */
    CompletableFuture<Void> close() {
        return CompletableFuture.allOf(
                launches.close(),
                CompletableFuture.runAsync(filters::close, task -> new Thread(task, "dispatcher-close").start()));
    }

    public ClientSide clients() {
        return clients;
    }

    public WorkerSide workers() {
        return workers;
    }

    public Launches launches() {
        return launches;
    }
}
