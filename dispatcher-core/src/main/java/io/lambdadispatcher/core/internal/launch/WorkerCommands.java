package io.lambdadispatcher.core.internal.launch;

import io.lambdadispatcher.core.internal.capacity.CapacityController;
import io.lambdadispatcher.core.observe.WorkerCommandResult;
import io.lambdadispatcher.core.observe.WorkerCommandResult.Outcome;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.observe.WorkerSnapshot.State;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Drains and replaces workers because an operator asks for it. The supervisor of a function
 * decides, so that it knows of each worker that leaves. Workers of a function without a supervisor
 * are told by the registry. Any thread.
 */
public final class WorkerCommands {
    private final WorkerRegistry registry;
    private final Map<String, LaunchSupervisor> supervisors;

    /** @param supervisors by function */
    public WorkerCommands(WorkerRegistry registry, Map<String, LaunchSupervisor> supervisors) {
        this.registry = registry;
        this.supervisors = supervisors;
    }

    /** Drains workers now. */
    public CompletableFuture<List<WorkerCommandResult>> drain(List<WorkerSnapshot> workers) {
        return command(workers, LaunchSupervisor::drain, this::drainSelfLaunched, Outcome.NOT_CONNECTED);
    }

    /** Replaces workers, at most a quarter of those of a function at a time. */
    public CompletableFuture<List<WorkerCommandResult>> recycle(List<WorkerSnapshot> workers) {
        return command(workers, LaunchSupervisor::recycle, worker -> false, Outcome.NOT_LAUNCHED_HERE);
    }

    private boolean drainSelfLaunched(WorkerSnapshot worker) {
        Instant deadline = worker.deadline();
        long left = deadline == null
                ? Long.MAX_VALUE
                : Duration.between(Instant.now(), deadline).toNanos();
        Duration grace = Duration.ofNanos(CapacityController.graceNanos(left));
        return registry.drain(worker.workerId(), DrainCode.REQUESTED, grace);
    }

    /** @param selfLaunched commands a worker of a function without a supervisor, if it obeys */
    private CompletableFuture<List<WorkerCommandResult>> command(
            List<WorkerSnapshot> workers,
            BiFunction<LaunchSupervisor, Collection<String>, CompletableFuture<Set<String>>> supervised,
            Predicate<WorkerSnapshot> selfLaunched,
            Outcome refused) {
        Map<String, List<WorkerSnapshot>> byFunction = workers.stream()
                .collect(Collectors.groupingBy(WorkerSnapshot::function, LinkedHashMap::new, Collectors.toList()));
        List<CompletableFuture<Set<String>>> parts = new ArrayList<>();
        byFunction.forEach((function, some) -> {
            LaunchSupervisor supervisor = supervisors.get(function);
            parts.add(
                    supervisor == null
                            ? CompletableFuture.completedFuture(some.stream()
                                    .filter(selfLaunched)
                                    .map(WorkerSnapshot::workerId)
                                    .collect(Collectors.toSet()))
                            : supervised.apply(
                                    supervisor,
                                    some.stream().map(WorkerSnapshot::workerId).toList()));
        });
        return CompletableFuture.allOf(parts.toArray(CompletableFuture<?>[]::new))
                .thenApply(all -> {
                    Set<String> done = new HashSet<>();
                    parts.forEach(part -> done.addAll(part.join()));
                    return workers.stream()
                            .map(worker -> new WorkerCommandResult(
                                    worker, done.contains(worker.workerId()) ? Outcome.DONE : refusal(worker, refused)))
                            .toList();
                });
    }

    private static Outcome refusal(WorkerSnapshot worker, Outcome otherwise) {
        return worker.state() == State.DRAINING ? Outcome.DRAINS_ALREADY : otherwise;
    }
}
