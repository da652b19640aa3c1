package io.lambdadispatcher.core.internal.launch;

import io.lambdadispatcher.core.internal.launch.GuardedLauncher.Launch;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchRequest;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.netty.util.concurrent.EventExecutor;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * The workers that this dispatcher has launched for one function and that have not ended. The exit
 * of each is reported exactly once, even if the launcher reports none of a worker that was killed.
 * Confined to the executor.
 */
final class WorkerLaunches {
    private static final Logger log = LoggerFactory.getLogger(WorkerLaunches.class);

    /** @param killedFor why the worker is killed; {@code null} = it is not */
    private record Launched(Launch launch, @Nullable String killedFor) {}

    private final String function;
    private final GuardedLauncher launcher;
    private final WorkerRegistry registry;
    private final EventExecutor executor;
    private final DispatcherObserver observer;
    private final BiConsumer<String, WorkerExit> exits;
    private final Map<String, Launched> launched = new HashMap<>();
    private boolean closed;

    /** @param exits gets the id of each worker that has ended, and how it has */
    WorkerLaunches(
            String function,
            GuardedLauncher launcher,
            WorkerRegistry registry,
            EventExecutor executor,
            DispatcherObserver observer,
            BiConsumer<String, WorkerExit> exits) {
        this.function = function;
        this.launcher = launcher;
        this.registry = registry;
        this.executor = executor;
        this.observer = observer;
        this.exits = exits;
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

    /** Launches a worker. Its exit is reported later, even if the launch fails. */
    void launch(LaunchRequest request) {
        String id = request.workerId();
        registry.onLaunched(id);
        observer.onLaunch(function, id);
        Launch launch = launcher.launch(request);
        launched.put(id, new Launched(launch, null));
        launch.exit().whenComplete((exit, never) -> executor.execute(() -> onExit(id, exit)));
    }

    /**
     * Terminates a worker by force. Its exit is reported when the launcher has reported it.
     *
     * @param reason predicate of a sentence about the worker, for logs and its exit
     * @param atMost time after which the exit is reported if the launcher has reported none
     * @return false if the worker was not launched here or has ended, so nothing is done
     */
    boolean kill(String workerId, String reason, Duration atMost) {
        Launched worker = launched.get(workerId);
        if (worker == null) {
            return false;
        }
        String why = reason + registry.hintOnStrangers(function, workerId);
        log.warn("worker {} of function {} {}. It is terminated.", workerId, function, why);
        launched.put(workerId, new Launched(worker.launch(), why));
        // Not every launcher can end the worker's process.
        registry.cutOff(workerId, "the worker " + reason);
        launcher.kill(worker.launch());
        executor.schedule(
                () -> onExit(workerId, new WorkerExit(Cause.LOST, "the launcher has reported no exit")),
                atMost.toNanos(),
                TimeUnit.NANOSECONDS);
        return true;
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
        observer.onLaunchEnd(function, workerId, exit.failed(), exit.detail());
        if (exit.failed() && !closed) {
            // A temporary refusal is logged once, as the obstacle of launching.
            log.atLevel(exit.cause() == Cause.NOT_READY ? Level.DEBUG : Level.WARN)
                    .log("worker {} of function {} exited ({}): {}", workerId, function, exit.cause(), exit.detail());
        }
        exits.accept(workerId, exit);
    }
}
