package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.internal.capacity.WorkerLife.State;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The workers of one function that an operator wants to replace, or that do not fit the version or
 * the options. At most a quarter of the workers is being replaced at a time, but at least one. A
 * worker drains when its replacement is ready, so if replacements fail to start, the remaining
 * workers keep serving. Confined to the controller's thread.
 */
final class Recycling {
    private static final int PARTS = 4;

    private final WorkerLives workers;
    private final Rollout rollout;
    private final DownstreamShares downstream;
    /** In the order in which they are replaced. */
    private final Set<String> waiting = new LinkedHashSet<>();
    /** Their replacements are expected. */
    private final Set<String> marked = new HashSet<>();

    Recycling(WorkerLives workers, Rollout rollout, DownstreamShares downstream) {
        this.workers = workers;
        this.rollout = rollout;
        this.downstream = downstream;
    }

    /** @return whether the worker will be replaced */
    boolean add(String workerId) {
        WorkerLife worker = workers.get(workerId);
        if (worker == null || !worker.ours || hasLeft(worker)) {
            return false;
        }
        if (!marked.contains(workerId)) {
            waiting.add(workerId);
        }
        return true;
    }

    /** Returns whether the worker's turn to be replaced has not come yet. */
    boolean isWaiting(WorkerLife worker) {
        return waiting.contains(worker.id);
    }

    /** Returns whether the worker is being replaced for one of these reasons. */
    boolean has(WorkerLife worker) {
        return marked.contains(worker.id);
    }

    /**
     * Marks the next workers as expiring.
     *
     * @param maxAge the age from which workers are replaced; zero = no limit
     */
    void markNext(long nowNanos, Duration maxAge) {
        List<WorkerLife> unfit = unfit(nowNanos, maxAge);
        if (waiting.isEmpty() && marked.isEmpty() && unfit.isEmpty()) {
            return;
        }
        marked.removeIf(id -> hasLeft(workers.get(id)));
        waiting.removeIf(id -> hasLeft(workers.get(id)));
        int all = workers.count(worker -> worker.ours && !hasLeft(worker));
        int room = Math.max(1, all / PARTS) - marked.size();
        for (Iterator<String> next = waiting.iterator(); room > 0 && next.hasNext(); room--) {
            String id = next.next();
            next.remove();
            WorkerLife worker = workers.get(id);
            if (worker != null) {
                mark(worker, "recycled by an operator");
            }
        }
        for (Iterator<WorkerLife> next = unfit.iterator(); room > 0 && next.hasNext(); ) {
            WorkerLife worker = next.next();
            if (!hasLeft(worker) && mark(worker, why(worker))) {
                room--;
            }
        }
    }

    /** Returns the workers that do not fit the options or the version, in the order of the need. */
    private List<WorkerLife> unfit(long nowNanos, Duration maxAge) {
        List<WorkerLife> unfit = new ArrayList<>(downstream.outdated(nowNanos, workers));
        if (!maxAge.isZero()) {
            // Their deadlines are later, because the age was set after they were ready. A new
            // deadline in the past would cut off the requests of all of them.
            workers.ready().stream()
                    .filter(worker -> worker.ours && nowNanos - worker.launchedNanos >= maxAge.toNanos())
                    .forEach(unfit::add);
        }
        unfit.addAll(rollout.outdated(workers));
        return unfit;
    }

    /**
     * Drains workers before their replacements are ready, because these cannot be launched as long
     * as the workers have too many downstream connections.
     */
    void drainEarly(PlanDraft draft) {
        int count = downstream.drainable(workers);
        for (WorkerLife worker : count == 0 ? List.<WorkerLife>of() : downstream.outdated(draft.nowNanos, workers)) {
            if (count > 0 && has(worker)) {
                draft.drain(worker, DrainCode.REQUESTED, worker.expiresFor());
                count--;
            }
        }
    }

    private String why(WorkerLife worker) {
        return rollout.outdated(workers).contains(worker) ? "version " + worker.version : "changed options";
    }

    private boolean mark(WorkerLife worker, String why) {
        worker.expire(why);
        return marked.add(worker.id);
    }

    private static boolean hasLeft(@Nullable WorkerLife worker) {
        return worker == null || worker.is(State.DRAINING) || worker.is(State.GONE);
    }
}
