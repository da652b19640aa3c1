package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import java.util.ArrayList;
import java.util.List;

/** Collects what one evaluation, or one event, decides. Confined to the controller's thread. */
final class PlanDraft {
    /** The reason of a limit that remains the same share of a worker's stream count. */
    static final String OTHER_STREAMS = "its connections or its own maximum have changed, and it was overloaded before";

    /** The time of the evaluation or event. */
    final long nowNanos;

    private final List<Plan.Launch> launches = new ArrayList<>(0);
    private final List<Plan.Drain> drains = new ArrayList<>(0);
    private final List<Plan.Kill> kills = new ArrayList<>(0);
    private final List<Plan.Limit> limits = new ArrayList<>(0);
    private final List<Plan.ShareChange> shareChanges = new ArrayList<>(0);

    PlanDraft(long nowNanos) {
        this.nowNanos = nowNanos;
    }

    void launch(String version, int downstreamShare, String reason) {
        launches.add(new Plan.Launch(version, downstreamShare, reason));
    }

    /**
     * Drains a worker that does not drain yet.
     *
     * @param why for operators
     */
    void drain(WorkerLife worker, DrainCode reason, String why) {
        if (worker.onDraining(nowNanos)) {
            worker.endsFor(why);
            tellToDrain(worker, reason);
        }
    }

    /** Tells a worker to drain, even if it was told before. */
    void tellToDrain(WorkerLife worker, DrainCode reason) {
        long grace = CapacityController.graceNanos(worker.leftNanos(nowNanos));
        worker.onTold(nowNanos, grace);
        drains.add(new Plan.Drain(worker.id, reason, grace, worker.endReason()));
    }

    void kill(WorkerLife worker, String reason) {
        worker.endsFor(reason);
        kills.add(new Plan.Kill(worker.id, reason));
    }

    void limit(WorkerLife worker, String reason) {
        limits.add(new Plan.Limit(worker.id, worker.limit.impose(), reason));
    }

    /**
     * Tells the pool a worker's limit if it is not the one that it has been told.
     *
     * @param otherStreams whether the worker's stream count has changed
     */
    void limitIfChanged(WorkerLife worker, boolean otherStreams) {
        int change = worker.limit.unimposed();
        if (change != 0) {
            String load = change < 0 ? "its event loop is late, or its heap is full" : "it is less loaded";
            limit(worker, otherStreams ? OTHER_STREAMS : load);
        }
    }

    void tellDownstreamShare(WorkerLife worker, int connections) {
        shareChanges.add(new Plan.ShareChange(worker.id, connections));
    }

    Plan plan() {
        return plan(0, false);
    }

    Plan plan(int ungranted, boolean asksVersion) {
        return new Plan(
                List.copyOf(launches),
                List.copyOf(drains),
                List.copyOf(kills),
                List.copyOf(limits),
                List.copyOf(shareChanges),
                ungranted,
                asksVersion);
    }
}
