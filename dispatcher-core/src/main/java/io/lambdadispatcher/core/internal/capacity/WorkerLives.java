package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.internal.capacity.Plan.Launch;
import io.lambdadispatcher.core.internal.capacity.WorkerLife.State;
import io.lambdadispatcher.core.observe.WorkerKind;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The workers of one function from launch to exit, oldest first. They are told what happens to one
 * worker; the {@link CapacityController} is told of the events that also concern others. Confined
 * to the controller's thread.
 */
public final class WorkerLives {
    /** The ids of in-process handlers begin with this. They serve the clients of one dispatcher. */
    public static final String IN_PROCESS_PREFIX = "in-process-";

    /** Time in which a worker that has become ready opens its other connections. */
    private static final long OPENING_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final Map<String, WorkerLife> workers = new LinkedHashMap<>();
    private final int streamsPerWorker;

    WorkerLives(int streamsPerWorker) {
        this.streamsPerWorker = streamsPerWorker;
    }

    // Events.

    void onLaunched(long nowNanos, String id, Launch launch) {
        WorkerLife worker = WorkerLife.launched(id, nowNanos, streamsPerWorker, launch.downstreamShare());
        worker.version = launch.version();
        worker.launchReason = launch.reason();
        workers.put(id, worker);
    }

    /** Records that a worker has connected and said who it is. */
    public void onDialled(long nowNanos, String id, WorkerKind kind) {
        workers.computeIfAbsent(id, unknown -> WorkerLife.launchedElsewhere(id, kind, nowNanos, streamsPerWorker))
                .onDialled(nowNanos);
    }

    /** Records that a connected worker takes no requests for now. */
    public void onUnready(long nowNanos, String id) {
        ifKnown(id, worker -> worker.onUnready(nowNanos));
    }

    /**
     * Records that a worker drains. It may have decided that itself.
     *
     * @param why for operators
     */
    public void onDraining(long nowNanos, String id, String why) {
        ifKnown(id, worker -> {
            worker.onDraining(nowNanos);
            worker.endsFor(why);
        });
    }

    /** Returns why a worker ends, for operators; empty if that is not known. */
    public String endReason(String id) {
        WorkerLife worker = workers.get(id);
        return worker == null ? "" : worker.endReason();
    }

    /**
     * Records that a worker has reported how many downstream connections it keeps to.
     *
     * @param connections 1 or more
     */
    public void onDownstreamShare(String id, int connections) {
        ifKnown(id, worker -> worker.downstream.onReport(connections));
    }

    /** Records that another dispatcher's worker is now this one's. */
    public void onAdopted(String id) {
        ifKnown(id, WorkerLife::adopt);
    }

    /** Records that a worker of this dispatcher is now another one's. */
    public void onDisowned(long nowNanos, String id) {
        ifKnown(id, worker -> {
            worker.ours = false;
            if (worker.is(State.LAUNCHED) || worker.hasParted()) {
                onGone(nowNanos, worker);
            }
        });
    }

    /** Records that a worker must be replaced and drained soon. */
    public void onExpiring(String id) {
        ifKnown(id, worker -> worker.expire("another dispatcher replaces it"));
    }

    private void ifKnown(String id, Consumer<WorkerLife> event) {
        WorkerLife worker = workers.get(id);
        if (worker != null) {
            event.accept(worker);
        }
    }

    void onGone(long nowNanos, WorkerLife worker) {
        worker.onGone(nowNanos);
        workers.remove(worker.id);
    }

    // What is known.

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

    /** Returns a copy in the order of the launches, so that a simulation repeats itself. */
    public Set<String> ids() {
        return Collections.unmodifiableSet(new LinkedHashSet<>(workers.keySet()));
    }

    /** Returns all workers by id, oldest first. */
    public Map<String, WorkerFacts> facts(long nowNanos) {
        Map<String, WorkerFacts> facts = new LinkedHashMap<>();
        for (WorkerLife worker : workers.values()) {
            facts.put(
                    worker.id,
                    new WorkerFacts(
                            worker.is(State.LAUNCHED),
                            worker.ours,
                            nowNanos - worker.launchedNanos,
                            worker.ejection(),
                            worker.launchReason,
                            worker.endReason()));
        }
        return facts;
    }

    int count(Predicate<WorkerLife> condition) {
        int count = 0;
        for (WorkerLife worker : workers.values()) {
            count += condition.test(worker) ? 1 : 0;
        }
        return count;
    }

    /** Returns the workers that are ready and not part of the base, including ejected ones. */
    List<WorkerLife> readyLaunched() {
        List<WorkerLife> ready = ready();
        ready.removeIf(WorkerLife::isBase);
        return ready;
    }

    /** Returns the sum over the workers of the base that are connected. */
    int base(ToIntFunction<WorkerLife> value) {
        int sum = 0;
        for (WorkerLife worker : workers.values()) {
            sum += worker.isBase() ? value.applyAsInt(worker) : 0;
        }
        return sum;
    }

    /** Returns how many exchanges the handler in process can serve at once; 0 = there is none. */
    int inProcess() {
        return base(worker -> worker.id.startsWith(IN_PROCESS_PREFIX) ? worker.concurrency() : 0);
    }

    /**
     * Returns the version that most ready workers of a kind state; empty if most state none.
     *
     * @param base whether to look at the workers of the base, or else at the launched ones
     * @param before is returned if no version has more of them
     */
    String mostStated(boolean base, String before) {
        Map<String, Integer> counts = new HashMap<>();
        for (WorkerLife worker : workers.values()) {
            if (worker.isBase() == base && worker.is(State.READY)) {
                counts.merge(worker.version, 1, Integer::sum);
            }
        }
        String most = counts.containsKey(before) ? before : "";
        for (Map.Entry<String, Integer> each : counts.entrySet()) {
            most = each.getValue() > counts.getOrDefault(most, 0) ? each.getKey() : most;
        }
        return most;
    }

    /** Returns how many launched workers serve, or are expected to do so soon and for some time. */
    int launchedCapacity(long nowNanos) {
        return count(worker -> worker.isCapacity(nowNanos) && !worker.isBase());
    }

    /**
     * Returns how many exchanges launched workers do not take of those that they were launched for,
     * because they want fewer or have lost a connection. A worker that has just become ready may
     * still open connections.
     */
    int withheld(long nowNanos) {
        return readyLaunched().stream()
                .filter(worker -> !worker.isEjected() && worker.inStateNanos(nowNanos) >= OPENING_NANOS)
                .mapToInt(worker -> worker.limit.value() - worker.usable())
                .sum();
    }

    /**
     * Returns the mean number of concurrent exchanges that a launched worker may have: its streams,
     * or fewer if workers were overloaded.
     */
    double exchangesPerWorker() {
        return readyLaunched().stream()
                .filter(worker -> !worker.isEjected())
                .mapToInt(worker -> worker.limit.value())
                .average()
                .orElse(streamsPerWorker);
    }
}
