package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.internal.capacity.WorkerLife.State;
import io.lambdadispatcher.core.options.DownstreamBudget;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the downstream connections of one function's workers within its {@link DownstreamBudget}: a
 * worker is launched only if its share fits beside the shares of all workers that may still run.
 * These are the workers that the controller knows, and the <i>ghosts</i>: workers that their
 * launcher has lost, until they have certainly ended. Confined to the controller's thread.
 *
 * <p>If the budget changes, workers are told their new share. A smaller one counts when the worker
 * has confirmed it, a larger one when it is told, which needs room. A worker that does not confirm
 * a smaller share is replaced.
 */
final class DownstreamShares {
    /** How many workers may drain at the same time because there are too many connections. */
    private static final int PARTS = 4;

    /** Tells a worker its share. */
    interface Teller {
        void tell(String workerId, int connections);
    }

    private record Ghost(int held, long untilNanos) {}

    private final Map<String, Ghost> ghosts = new HashMap<>();
    private @Nullable DownstreamBudget budget;

    DownstreamShares(@Nullable DownstreamBudget budget) {
        this.budget = budget;
    }

    void setBudget(@Nullable DownstreamBudget value) {
        budget = value;
    }

    /** Returns the share of a worker that is launched now; 0 = it has no limit. */
    int ofNewWorker() {
        return budget == null ? 0 : budget.share();
    }

    /**
     * Records that a worker has left, but may still run.
     *
     * @param untilNanos when it has certainly ended
     */
    void onLost(WorkerLife worker, long untilNanos) {
        if (budget != null) {
            ghosts.put(worker.id, new Ghost(worker.share.held(), untilNanos));
        }
    }

    /** Returns how many workers there are connections for, beside those that may run. */
    int room(long nowNanos, WorkerLives workers) {
        DownstreamBudget now = budget;
        if (now == null) {
            return Integer.MAX_VALUE;
        }
        ghosts.values().removeIf(ghost -> nowNanos - ghost.untilNanos >= 0);
        return (int) Math.max(0, left(now, workers) / now.share());
    }

    private long left(DownstreamBudget now, WorkerLives workers) {
        long left = now.connections();
        for (WorkerLife worker : workers.all()) {
            left -= counted(now, worker.share.held());
        }
        for (Ghost ghost : ghosts.values()) {
            left -= counted(now, ghost.held);
        }
        return left;
    }

    private static int counted(DownstreamBudget now, int held) {
        return held > 0 ? held : now.share();
    }

    /**
     * Tells workers their share if it has changed. Called every second.
     *
     * @param mayRaise whether workers may be told a larger share. In a fleet, the ledger would have
     *     to know of it first, so a worker keeps a smaller share until it is replaced
     */
    void tell(long nowNanos, WorkerLives workers, boolean mayRaise, Teller to) {
        DownstreamBudget now = budget;
        if (now == null) {
            return;
        }
        long left = left(now, workers);
        for (WorkerLife worker : workers.all()) {
            int more = now.share() - worker.share.held();
            boolean fits = more <= 0 || mayRaise && more <= left;
            boolean connected = worker.is(State.DIALLED) || worker.is(State.READY);
            if (worker.ours
                    && connected
                    && worker.share.reports()
                    && fits
                    && worker.share.mustTell(nowNanos, now.share())) {
                left -= Math.max(0, more);
                to.tell(worker.id, now.share());
            }
        }
    }

    /** Returns the workers that must be replaced because their share cannot be reduced. */
    List<WorkerLife> outdated(long nowNanos, WorkerLives workers) {
        DownstreamBudget now = budget;
        if (now == null) {
            return List.of();
        }
        return workers.ready().stream()
                .filter(worker -> worker.ours)
                .filter(worker -> worker.share.isUnlimited() || worker.share.isStuckAbove(nowNanos, now.share()))
                .toList();
    }

    /**
     * Returns how many workers may drain before their replacements are ready. There are more
     * connections than the budget permits, so replacements cannot be launched.
     */
    int drainable(WorkerLives workers) {
        DownstreamBudget now = budget;
        if (now == null || left(now, workers) >= 0) {
            return 0;
        }
        int serving = workers.count(worker -> worker.is(State.READY));
        int draining = workers.count(worker -> worker.is(State.DRAINING));
        return Math.max(0, Math.max(1, serving / PARTS) - draining);
    }

    /** Returns the limit in one line, for people. */
    String text(WorkerLives workers) {
        DownstreamBudget now = budget;
        return now == null
                ? ""
                : "launching is limited by downstreamConnections: " + now.connections() + ", and "
                        + workers.count(worker -> true) + " workers run, start or end, with at most " + now.share()
                        + " connections each"
                        + (ghosts.isEmpty()
                                ? ""
                                : ". " + ghosts.size() + " further workers are lost and may still run");
    }
}
