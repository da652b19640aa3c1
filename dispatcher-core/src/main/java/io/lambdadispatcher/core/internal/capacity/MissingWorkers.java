package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.internal.capacity.WorkerLife.State;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import java.util.concurrent.TimeUnit;

/**
 * How many workers of one function this dispatcher should launch now, if nothing blocks launches.
 *
 * @param ordinary workers that the traffic needs
 * @param all these, and workers that are watched because they have a new version. They run beside
 *     the workers that the traffic needs
 */
record MissingWorkers(int ordinary, int all) {
    /** For this time, a replacement waits until an ejected worker has ended. */
    private static final long LEAVING_NANOS = TimeUnit.SECONDS.toNanos(5);

    /**
     * Counts them within the maximum. If ejected or watched workers would exceed it, this drains
     * some ejected workers, and marks some others as expiring.
     *
     * @param wanted how many workers the fleet should have
     * @param elsewhere those of other dispatchers that this one does not know
     * @param most the maximum number of workers. Workers that expire or have lost their connections
     *     are replaced beyond it, so twice as many may run
     */
    static MissingWorkers count(
            PlanDraft draft, int wanted, int elsewhere, int most, WorkerLives workers, Rollout rollout) {
        long now = draft.nowNanos;
        int capacity = elsewhere
                + workers.count(worker -> worker.isCapacity(now) && !worker.isBase() && !rollout.isWatched(worker));
        int places = drainEjected(draft, wanted - capacity, most - capacity, workers);
        int watched = rollout.watchedWorkers(wanted);
        int ordinary = Math.max(0, Math.min(Math.min(wanted, most - watched) - capacity, places));
        int missingWatched = watched > 0 && rollout.launchesWatched()
                ? missingWatched(now, watched, capacity + watched - most, workers, rollout)
                : 0;
        int there = workers.count(worker -> worker.ours && !worker.hasExited());
        return new MissingWorkers(ordinary, Math.min(ordinary + missingWatched, 2 * most - there));
    }

    /**
     * Drains ejected workers, if there is no place for their replacements within the maximum.
     *
     * @param free places within the maximum, if ejected workers occupied none
     * @return how many workers may be launched within the maximum
     */
    private static int drainEjected(PlanDraft draft, int missing, int free, WorkerLives workers) {
        int places = free - workers.count(worker -> worker.ours && isEjected(draft.nowNanos, worker));
        int left = missing;
        for (WorkerLife worker : workers.ready()) {
            if (left > places && worker.ours && worker.isEjected()) {
                draft.drain(worker, DrainCode.REQUESTED, "ejected");
                left--;
            }
        }
        return Math.max(0, places);
    }

    /** Returns whether the worker occupies the place of its replacement. */
    private static boolean isEjected(long nowNanos, WorkerLife worker) {
        boolean leaving = worker.is(State.DRAINING) && worker.inStateNanos(nowNanos) < LEAVING_NANOS;
        return worker.isEjected() || leaving && worker.ejection() != null;
    }

    /**
     * Returns how many watched workers are missing.
     *
     * @param tooMany how many of the others they replace, because the maximum permits no more
     */
    private static int missingWatched(long nowNanos, int watched, int tooMany, WorkerLives workers, Rollout rollout) {
        int left = tooMany;
        for (WorkerLife worker : workers.ready()) {
            if (left > 0 && worker.ours && worker.isCapacity(nowNanos) && !rollout.isWatched(worker)) {
                worker.expire("a new version is tried");
                left--;
            }
        }
        int there = workers.count(worker -> worker.isCapacity(nowNanos) && rollout.isWatched(worker));
        return Math.max(0, watched - there);
    }
}
