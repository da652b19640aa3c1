package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.internal.capacity.WorkerLife.State;
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

    /** In the order in which they are replaced. */
    private final Set<String> waiting = new LinkedHashSet<>();
    /** Their replacements are expected. */
    private final Set<String> marked = new HashSet<>();

    /** @return whether the worker will be replaced */
    boolean add(@Nullable WorkerLife worker) {
        if (worker == null || !worker.ours || hasLeft(worker)) {
            return false;
        }
        if (!marked.contains(worker.id)) {
            waiting.add(worker.id);
        }
        return true;
    }

    /** Returns whether the worker is being replaced for one of these reasons. */
    boolean has(WorkerLife worker) {
        return marked.contains(worker.id);
    }

    /**
     * Marks the next workers as expiring.
     *
     * @param outdated further workers to replace, as long as they are in this list
     */
    void markNext(WorkerLives workers, List<WorkerLife> outdated) {
        if (waiting.isEmpty() && marked.isEmpty() && outdated.isEmpty()) {
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
                mark(worker);
            }
        }
        for (Iterator<WorkerLife> next = outdated.iterator(); room > 0 && next.hasNext(); ) {
            WorkerLife worker = next.next();
            if (!hasLeft(worker) && mark(worker)) {
                room--;
            }
        }
    }

    private boolean mark(WorkerLife worker) {
        worker.expire();
        return marked.add(worker.id);
    }

    private static boolean hasLeft(@Nullable WorkerLife worker) {
        return worker == null || worker.is(State.DRAINING) || worker.is(State.GONE);
    }
}
