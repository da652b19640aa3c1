package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;

/**
 * Says why workers are launched and why they end, in words for operators: in the log, and beside
 * the worker. Confined to the controller's thread, except {@link #ofDrain}.
 */
public final class WorkerReasons {
    private WorkerReasons() {}

    /**
     * Returns why one more worker is launched. A worker that needs a replacement is named once.
     *
     * @param there how many workers serve or start, with those that were launched just now
     * @param target how many there should be
     * @param pending how many requests wait
     */
    static String ofLaunch(WorkerLives workers, CapacityPolicy policy, int there, WorkerTarget target, int pending) {
        for (WorkerLife worker : workers.ready()) {
            String leaves = worker.isEjected() ? "ejected" : worker.expiresFor();
            if (!leaves.isEmpty() && worker.claimsReplacement()) {
                return "replaces " + worker.id + " (" + leaves + ")";
            }
        }
        if (there < policy.minWorkers()) {
            return "minimum";
        }
        if (there >= target.needed()) {
            return there < target.scheduled().minimum() ? "schedule" : "spare";
        }
        if (pending > 0) {
            return PrintableText.counted(pending, "waiting request", "waiting requests");
        }
        return workers.base(WorkerLife::concurrency) > 0 ? "excess over base" : "traffic";
    }

    /** Returns why a worker drains by itself, or one that the controller does not know. */
    public static String ofDrain(DrainCode reason) {
        return switch (reason) {
            case SHUTDOWN -> "shutdown";
            case SCALE_IN -> "fewer workers are needed";
            case DEADLINE -> "deadline";
            case IDLE -> "idle";
            case REQUESTED -> "drained on request";
            case LEAVING -> "it keeps serving other dispatchers";
        };
    }
}
