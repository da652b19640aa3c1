package io.lambdadispatcher.core.internal.launch;

import io.lambdadispatcher.core.DispatcherObserver;
import io.lambdadispatcher.core.FunctionOptions;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchRequest;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchedWorker;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.wire.ControlMessage.DrainReason;
import io.lambdadispatcher.wire.LaunchToken;
import io.netty.util.concurrent.EventExecutor;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps one function's number of workers: launches what is missing, backs off when launches fail, replaces a worker before its deadline and
 * lets the old one drain only when the new one is ready. All state is confined to one executor; {@link WorkerRegistry} and the
 * launcher call from any thread.
 */
public final class LaunchSupervisor {
    /** A token that is not used by then is void. */
    static final Duration TOKEN_LIFE = Duration.ofMinutes(5);

    private static final Logger log = LoggerFactory.getLogger(LaunchSupervisor.class);
    private static final Duration NO_SHOW = Duration.ofSeconds(30);
    private static final Duration REPLACE_BEFORE_DEADLINE = Duration.ofSeconds(60);
    private static final Duration DRAIN_GRACE = Duration.ofSeconds(30);
    private static final long BACKOFF_BASE_MILLIS = 500;
    private static final long BACKOFF_MAX_MILLIS = 30_000;

    /** Launches in a row that fail before no more is made than one at a time. */
    private static final int CIRCUIT_OPENS_AFTER = 5;

    private enum Stage {
        LAUNCHED,
        READY,
        /** Ready still, but its replacement is on its way. */
        EXPIRING,
        LEAVING
    }

    private static final class Worker {
        final String id;
        final LaunchedWorker launched;
        Stage stage = Stage.LAUNCHED;

        @Nullable
        String replaces;

        Worker(String id, LaunchedWorker launched) {
            this.id = id;
            this.launched = launched;
        }
    }

    private final FunctionOptions function;
    private final WorkerLauncher launcher;
    private final WorkerRegistry registry;
    private final EventExecutor executor;
    private final byte[] secret;
    private final List<InetSocketAddress> dialBack;
    private final boolean tls;
    private final DispatcherObserver observer;
    private final Backoff backoff = new Backoff(BACKOFF_BASE_MILLIS, BACKOFF_MAX_MILLIS);
    private final Map<String, Worker> workers = new HashMap<>();
    private final Set<String> toReplace = new HashSet<>();
    private boolean launchPending;
    private boolean closed;
    private volatile boolean satisfied;

    public LaunchSupervisor(
            FunctionOptions function,
            WorkerLauncher launcher,
            WorkerRegistry registry,
            EventExecutor executor,
            byte[] secret,
            List<InetSocketAddress> dialBack,
            boolean tls,
            DispatcherObserver observer) {
        this.function = function;
        this.launcher = launcher;
        this.registry = registry;
        this.executor = executor;
        this.secret = secret;
        this.dialBack = dialBack;
        this.tls = tls;
        this.observer = observer;
        satisfied = function.capacity().minWorkers() == 0;
    }

    public void start() {
        executor.execute(this::launchMissing);
    }

    /** Launches nothing from now on. */
    public void close() {
        executor.execute(() -> closed = true);
    }

    /** As many workers as there should be are ready. Any thread. */
    public boolean isSatisfied() {
        return satisfied;
    }

    public void onWorkerReady(String workerId, @Nullable Instant deadline) {
        executor.execute(() -> {
            Worker worker = workers.get(workerId);
            if (worker == null) {
                return; // started by somebody else
            }
            worker.stage = Stage.READY;
            backoff.onSuccess();
            if (deadline != null) {
                scheduleReplacement(worker, deadline);
            }
            if (worker.replaces != null) {
                registry.drain(worker.replaces, DrainReason.DEADLINE, DRAIN_GRACE);
                leave(worker.replaces);
            }
            launchMissing();
        });
    }

    public void onWorkerDraining(String workerId) {
        executor.execute(() -> {
            leave(workerId);
            launchMissing();
        });
    }

    private void leave(String workerId) {
        Worker worker = workers.get(workerId);
        if (worker != null) {
            worker.stage = Stage.LEAVING;
        }
    }

    private void scheduleReplacement(Worker worker, Instant deadline) {
        Duration left = Duration.between(Instant.now(), deadline);
        Duration lead =
                left.dividedBy(3).compareTo(REPLACE_BEFORE_DEADLINE) < 0 ? left.dividedBy(3) : REPLACE_BEFORE_DEADLINE;
        executor.schedule(
                () -> {
                    if (worker.stage == Stage.READY) {
                        worker.stage = Stage.EXPIRING;
                        toReplace.add(worker.id);
                        launchMissing();
                    }
                },
                left.minus(lead).toMillis(),
                TimeUnit.MILLISECONDS);
    }

    private void launchMissing() {
        int coming = 0;
        int ready = 0;
        for (Worker worker : workers.values()) {
            coming += worker.stage == Stage.LAUNCHED || worker.stage == Stage.READY ? 1 : 0;
            ready += worker.stage == Stage.READY || worker.stage == Stage.EXPIRING ? 1 : 0;
        }
        satisfied = ready >= function.capacity().minWorkers();
        if (closed || launchPending) {
            return;
        }
        boolean circuitOpen = backoff.failures() >= CIRCUIT_OPENS_AFTER;
        int missing = function.capacity().minWorkers() - coming;
        int now = circuitOpen ? Math.min(missing, 1) : missing;
        for (int i = 0; i < now; i++) {
            launch();
        }
    }

    private void launch() {
        String id = UUID.randomUUID().toString();
        String token = new LaunchToken(function.name(), id, Instant.now().plus(TOKEN_LIFE)).sign(secret);
        observer.onLaunch(function.name(), id);
        Worker worker = new Worker(
                id,
                launcher.launch(new LaunchRequest(
                        function.name(),
                        id,
                        token,
                        dialBack,
                        function.connectionsPerWorker(),
                        function.streamsPerConnection(),
                        tls)));
        if (!toReplace.isEmpty()) {
            worker.replaces = toReplace.iterator().next();
            toReplace.remove(worker.replaces);
        }
        workers.put(id, worker);
        worker.launched.exit().whenComplete((exit, error) -> executor.execute(() -> onExit(worker, exit)));
        executor.schedule(() -> onNoShowDue(worker), NO_SHOW.toMillis(), TimeUnit.MILLISECONDS);
    }

    private void onNoShowDue(Worker worker) {
        if (worker.stage == Stage.LAUNCHED && workers.containsKey(worker.id)) {
            log.warn("worker {} of {} has not dialled in for {}", worker.id, function.name(), NO_SHOW);
            worker.launched.kill();
        }
    }

    private void onExit(Worker worker, WorkerExit exit) {
        if (workers.remove(worker.id) == null) {
            return;
        }
        observer.onLaunchEnd(function.name(), worker.id, exit.failed(), exit.detail());
        if (worker.replaces != null && worker.stage == Stage.LAUNCHED) {
            toReplace.add(worker.replaces);
        }
        boolean failed = worker.stage == Stage.LAUNCHED || exit.failed() && worker.stage != Stage.LEAVING;
        if (closed) {
            return;
        }
        if (!failed) {
            launchMissing();
            return;
        }
        log.warn("worker {} of {} ended: {}", worker.id, function.name(), exit.detail());
        launchAfterPause(worker.stage == Stage.LAUNCHED ? backoff.onFailureMillis() : 0);
    }

    private void launchAfterPause(long millis) {
        if (launchPending) {
            return;
        }
        launchPending = true;
        satisfied = false;
        executor.schedule(
                () -> {
                    launchPending = false;
                    launchMissing();
                },
                millis,
                TimeUnit.MILLISECONDS);
    }
}
