package io.lambdadispatcher.core.internal.launch;

import io.lambdadispatcher.core.internal.capacity.WorkerFacts;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.observe.WorkerSnapshot.State;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Describes each worker of a function, from three places: the registry knows its connections, the
 * event loops what it does, and the capacity controller how it was launched and whether it is
 * ejected. Any thread.
 */
public final class WorkerInspection {
    private WorkerInspection() {}

    /**
     * @param supervisor {@code null} if the function's workers are not launched here
     * @return workers that were launched or connected and have not exited
     */
    public static CompletableFuture<List<WorkerSnapshot>> of(
            FunctionPool pool, WorkerRegistry registry, @Nullable LaunchSupervisor supervisor) {
        CompletableFuture<Map<String, WorkerFacts>> facts =
                supervisor == null ? CompletableFuture.completedFuture(Map.of()) : supervisor.facts();
        String function = pool.options().name();
        return pool.inspectWorkers()
                .thenCombine(facts, (uses, known) -> merge(function, registry.workers(function, uses), known));
    }

    private static List<WorkerSnapshot> merge(
            String function, List<WorkerSnapshot> connected, Map<String, WorkerFacts> facts) {
        Instant now = Instant.now();
        Map<String, WorkerSnapshot> all = new LinkedHashMap<>();
        facts.forEach((id, known) -> {
            if (known.starting()) {
                all.put(id, starting(function, id, now, known));
            }
        });
        for (WorkerSnapshot worker : connected) {
            WorkerFacts known = facts.get(worker.workerId());
            all.put(worker.workerId(), known == null ? worker : with(worker, now, known));
        }
        return new ArrayList<>(all.values());
    }

    private static WorkerSnapshot starting(String function, String id, Instant now, WorkerFacts known) {
        return new WorkerSnapshot(
                function,
                id,
                State.STARTING,
                true,
                null,
                now.minusNanos(known.ageNanos()),
                null,
                0,
                0,
                0,
                0,
                0,
                0,
                null,
                null,
                "",
                "",
                "",
                known.launchReason(),
                known.endReason());
    }

    private static WorkerSnapshot with(WorkerSnapshot worker, Instant now, WorkerFacts known) {
        boolean ejected = known.ejection() != null && worker.state() == State.READY;
        return new WorkerSnapshot(
                worker.function(),
                worker.workerId(),
                ejected ? State.EJECTED : worker.state(),
                worker.launched(),
                worker.remoteAddress(),
                now.minusNanos(known.ageNanos()),
                worker.deadline(),
                worker.connections(),
                worker.streams(),
                worker.busy(),
                ejected ? 0 : worker.limit(),
                worker.completed(),
                worker.failed(),
                worker.load(),
                ejected ? known.ejection() : null,
                worker.version(),
                worker.logStream(),
                worker.zone(),
                known.launchReason(),
                known.endReason().isEmpty() ? worker.endReason() : known.endReason());
    }
}
