package io.lambdadispatcher.core.internal.launch;

import io.lambdadispatcher.core.internal.capacity.Plan;
import io.lambdadispatcher.core.internal.launch.GuardedLauncher.Launch;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchRequest;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.netty.util.concurrent.EventExecutor;
import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries out the {@link Plan}s of one function, and keeps the workers that were launched here and
 * have not ended. The exit of each is reported exactly once, even if the launcher reports none of a
 * worker that was killed. Confined to the executor.
 */
final class WorkerLaunches {
    private static final Logger log = LoggerFactory.getLogger(WorkerLaunches.class);

    /** Is told on the executor what has become of a plan. */
    interface Outcomes {
        /** A worker is being launched. */
        void onLaunched(String workerId, Plan.Launch launch);

        /** Returns why a worker ends, for operators; empty if that is not known. */
        String endReason(String workerId);

        /** A worker that was launched here has exited, or could not be launched. */
        void onExit(String workerId, WorkerExit exit);

        /** A worker cannot be killed, because another dispatcher has launched it. */
        void onNotLaunchedHere(String workerId);
    }

    /** @param killedFor why the worker is killed; {@code null} = it is not */
    private record Launched(Launch launch, @Nullable String killedFor) {}

    private final String function;
    private final FunctionPool pool;
    private final GuardedLauncher launcher;
    private final LaunchRequests requests;
    private final WorkerRegistry registry;
    private final EventExecutor executor;
    private final DispatcherObserver observer;
    private final Incidents incidents;
    private final Outcomes outcomes;
    private final Map<String, Launched> launched = new HashMap<>();
    private boolean closed;

    WorkerLaunches(
            FunctionPool pool,
            GuardedLauncher launcher,
            LaunchRequests requests,
            WorkerRegistry registry,
            EventExecutor executor,
            DispatcherObserver observer,
            Incidents incidents,
            Outcomes outcomes) {
        this.function = pool.options().name();
        this.pool = pool;
        this.launcher = launcher;
        this.requests = requests;
        this.registry = registry;
        this.executor = executor;
        this.observer = observer;
        this.incidents = incidents;
        this.outcomes = outcomes;
    }

    boolean isEmpty() {
        return launched.isEmpty();
    }

    boolean contains(String workerId) {
        return launched.containsKey(workerId);
    }

    /** Logs no failed exits from now on, because the dispatcher ends its workers. */
    void close() {
        closed = true;
    }

    /** @param options the latest ones of the function */
    void carryOut(Plan plan, FunctionOptions options) {
        plan.limits().forEach(this::limit);
        plan.shareChanges().forEach(this::tell);
        plan.kills().forEach(kill -> kill(kill, options.launching().launchTimeout()));
        plan.launches().forEach(launch -> launch(launch, options));
        plan.drains().forEach(this::drain);
    }

    private void limit(Plan.Limit limit) {
        if (limit.exchanges() == Plan.Limit.NONE) {
            log.info("worker {} of {} is no longer limited: {}", limit.workerId(), function, limit.reason());
        } else {
            log.info(
                    "worker {} of {} now gets at most {} concurrent requests: {}",
                    limit.workerId(),
                    function,
                    limit.exchanges(),
                    limit.reason());
        }
        pool.limit(limit.workerId(), limit.exchanges());
    }

    private void tell(Plan.ShareChange change) {
        log.info(
                "worker {} of {} may now have {} downstream connections",
                change.workerId(),
                function,
                change.connections());
        registry.tellShare(change.workerId(), change.connections());
    }

    private void drain(Plan.Drain drain) {
        log.info("draining worker {} of function {}: {}", drain.workerId(), function, drain.why());
        registry.drain(drain.workerId(), drain.reason(), Duration.ofNanos(drain.graceNanos()));
    }

    private void launch(Plan.Launch order, FunctionOptions options) {
        LaunchRequest request = requests.next(options, order);
        String id = request.workerId();
        log.info("launching worker {} of function {}: {}", id, function, order.reason());
        registry.onLaunched(id);
        observer.onLaunch(function, id, order.reason());
        Launch launch = launcher.launch(request);
        launched.put(id, new Launched(launch, null));
        launch.exit().whenComplete((exit, never) -> executor.execute(() -> onExit(id, exit)));
        outcomes.onLaunched(id, order);
    }

    /** @param atMost time after which the exit is reported if the launcher has reported none */
    private void kill(Plan.Kill kill, Duration atMost) {
        String workerId = kill.workerId();
        Launched worker = launched.get(workerId);
        if (worker == null) {
            outcomes.onNotLaunchedHere(workerId);
            return;
        }
        String why = kill.reason() + registry.hintOnStrangers(function, workerId);
        log.warn("worker {} of function {} {}. It is terminated.", workerId, function, why);
        launched.put(workerId, new Launched(worker.launch(), why));
        // Not every launcher can end the worker's process.
        registry.cutOff(workerId, "the worker " + kill.reason());
        launcher.kill(worker.launch());
        executor.schedule(
                () -> onExit(workerId, new WorkerExit(Cause.LOST, "the launcher has reported no exit")),
                atMost.toNanos(),
                TimeUnit.NANOSECONDS);
    }

    private static String words(Cause cause) {
        return switch (cause) {
            case ENDED -> "has ended";
            case FAILED -> "has failed";
            case LOST -> "may still run, but its launcher has lost sight of it";
            case UNAVAILABLE -> "was not launched, because the platform cannot be reached";
            case THROTTLED -> "was not launched, because the platform has no capacity left for it";
            case NOT_READY -> "was not launched, because the platform still prepares the function";
            case REFUSED -> "was not launched, because the platform refuses it";
        };
    }

    private void onExit(String workerId, WorkerExit reported) {
        Launched worker = launched.remove(workerId);
        if (worker == null) {
            return; // Its exit was reported before.
        }
        WorkerExit exit = worker.killedFor() == null
                ? reported
                : new WorkerExit(
                        reported.cause(),
                        "the worker " + worker.killedFor() + ". The launcher says: " + reported.detail());
        registry.onEnded(workerId);
        String why = exit.failed() ? "" : outcomes.endReason(workerId);
        String detail = why.isEmpty() ? exit.detail() : why;
        observer.onLaunchEnd(function, workerId, exit.failed(), detail);
        if (!exit.failed()) {
            log.info("worker {} of function {} has ended: {}", workerId, function, detail);
        } else if (!closed) {
            log.info("worker {} of function {} {}: {}", workerId, function, words(exit.cause()), exit.detail());
            // A temporary refusal is told as the obstacle of launching.
            if (exit.cause() != Cause.NOT_READY) {
                incidents.count(
                        Incident.Kind.LAUNCHES_FAILED,
                        function,
                        exit.cause().name().toLowerCase(Locale.ROOT),
                        () -> "worker " + workerId + " " + words(exit.cause()) + ": " + exit.detail());
            }
        }
        outcomes.onExit(workerId, exit);
    }
}
