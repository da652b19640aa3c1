package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.internal.capacity.WorkerLife.State;
import io.lambdadispatcher.core.options.DownstreamBudget;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.wire.http.PrintableText;
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

    private record Ghost(int held, long untilNanos) {}

    private final Map<String, Ghost> ghosts = new HashMap<>();
    private FunctionOptions function;
    /** Whether there were no connections for a worker that was missing. */
    private boolean lacking;

    DownstreamShares(FunctionOptions function) {
        this.function = function;
    }

    void setOptions(FunctionOptions value) {
        function = value;
    }

    private @Nullable DownstreamBudget budget() {
        return function.capacity().downstream();
    }

    /** Returns the share of a worker that is launched now; 0 = it has no limit. */
    int ofNewWorker() {
        DownstreamBudget now = budget();
        return now == null ? 0 : now.share();
    }

    /** Records that a worker has left, but may still run. */
    void onLost(WorkerLife worker) {
        if (budget() != null) {
            long until = worker.hasDeadline()
                    ? worker.deadlineNanos()
                    : worker.launchedNanos
                            + function.launching()
                                    .launchTimeout()
                                    .plus(CapacityController.longestLife(function))
                                    .toNanos();
            ghosts.put(worker.id, new Ghost(worker.downstream.held(), until));
        }
    }

    /**
     * Returns for how many of the missing workers there are connections, beside those that may run.
     */
    int permitted(long nowNanos, int missing, WorkerLives workers) {
        DownstreamBudget now = budget();
        if (now == null) {
            lacking = false;
            return missing;
        }
        ghosts.values().removeIf(ghost -> nowNanos - ghost.untilNanos >= 0);
        int room = (int) Math.max(0, left(now, workers) / now.share());
        lacking = missing > room;
        return Math.min(missing, room);
    }

    private long left(DownstreamBudget now, WorkerLives workers) {
        long left = now.connections();
        for (WorkerLife worker : workers.all()) {
            left -= counted(now, worker.downstream.held());
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
    void tell(PlanDraft draft, WorkerLives workers, boolean mayRaise) {
        DownstreamBudget now = budget();
        if (now == null) {
            return;
        }
        long left = left(now, workers);
        for (WorkerLife worker : workers.all()) {
            int more = now.share() - worker.downstream.held();
            boolean fits = more <= 0 || mayRaise && more <= left;
            boolean connected = worker.is(State.DIALLED) || worker.is(State.READY);
            if (worker.ours
                    && connected
                    && worker.downstream.reports()
                    && fits
                    && worker.downstream.mustTell(draft.nowNanos, now.share())) {
                left -= Math.max(0, more);
                draft.tellDownstreamShare(worker, now.share());
            }
        }
    }

    /** Returns the workers that must be replaced because their share cannot be reduced. */
    List<WorkerLife> outdated(long nowNanos, WorkerLives workers) {
        DownstreamBudget now = budget();
        if (now == null) {
            return List.of();
        }
        return workers.ready().stream()
                .filter(worker -> worker.ours)
                .filter(worker ->
                        worker.downstream.isUnlimited() || worker.downstream.isStuckAbove(nowNanos, now.share()))
                .toList();
    }

    /**
     * Returns how many workers may drain before their replacements are ready. There are more
     * connections than the budget permits, so replacements cannot be launched.
     */
    int drainable(WorkerLives workers) {
        DownstreamBudget now = budget();
        if (now == null || left(now, workers) >= 0) {
            return 0;
        }
        int serving = workers.count(worker -> worker.is(State.READY));
        int draining = workers.count(worker -> worker.is(State.DRAINING));
        return Math.max(0, Math.max(1, serving / PARTS) - draining);
    }

    /**
     * Returns why fewer workers were launched than were missing, in one line, or {@code null} if
     * there were connections for all.
     */
    @Nullable
    String obstacle(WorkerLives workers) {
        DownstreamBudget now = budget();
        return now == null || !lacking
                ? null
                : "launching is limited by function.downstream-connections: " + now.connections() + ", and "
                        + workers.count(worker -> true) + " workers run, start or end, with at most " + now.share()
                        + " connections each"
                        + (ghosts.isEmpty()
                                ? ""
                                : ". "
                                        + PrintableText.counted(
                                                ghosts.size(), "further worker is", "further workers are")
                                        + " lost and may still run");
    }
}
