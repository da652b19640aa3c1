package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.internal.capacity.WorkerLife.State;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The workers of one function from launch to exit, oldest first. Confined to the controller's
 * thread.
 */
final class WorkerLives {
    private final Map<String, WorkerLife> workers = new LinkedHashMap<>();
    private final int streamsPerWorker;

    WorkerLives(int streamsPerWorker) {
        this.streamsPerWorker = streamsPerWorker;
    }

    /**
     * @param version the version that it was launched with; empty = the launcher has chosen it
     * @param connections the downstream connections that it may open; 0 = not limited
     */
    void onLaunched(long nowNanos, String id, String version, int connections) {
        WorkerLife worker = WorkerLife.launched(id, nowNanos, streamsPerWorker, connections);
        worker.version = version;
        workers.put(id, worker);
    }

    /** Records that a worker has connected. An unknown worker is added as self-launched. */
    WorkerLife onDialled(long nowNanos, String id) {
        WorkerLife worker =
                workers.computeIfAbsent(id, unknown -> WorkerLife.selfLaunched(id, nowNanos, streamsPerWorker));
        worker.onDialled(nowNanos);
        return worker;
    }

    void onGone(long nowNanos, WorkerLife worker) {
        worker.onGone(nowNanos);
        workers.remove(worker.id);
    }

    @Nullable
    WorkerLife get(String id) {
        return workers.get(id);
    }

    /** Returns a copy, so that the caller can add and remove workers during iteration. */
    List<WorkerLife> all() {
        return List.copyOf(workers.values());
    }

    /** Returns a new list of the workers that are ready, including ejected ones. */
    List<WorkerLife> ready() {
        List<WorkerLife> ready = new ArrayList<>();
        for (WorkerLife worker : workers.values()) {
            if (worker.is(State.READY)) {
                ready.add(worker);
            }
        }
        return ready;
    }

    /** Returns a copy. */
    Set<String> ids() {
        return Set.copyOf(workers.keySet());
    }

    int count(Predicate<WorkerLife> condition) {
        int count = 0;
        for (WorkerLife worker : workers.values()) {
            count += condition.test(worker) ? 1 : 0;
        }
        return count;
    }

    /**
     * Returns the mean number of concurrent exchanges that a worker may have: its streams, or fewer
     * if workers were overloaded.
     */
    double exchangesPerWorker() {
        return ready().stream()
                .filter(worker -> !worker.isEjected())
                .mapToInt(WorkerLife::allowed)
                .average()
                .orElse(streamsPerWorker);
    }
}
