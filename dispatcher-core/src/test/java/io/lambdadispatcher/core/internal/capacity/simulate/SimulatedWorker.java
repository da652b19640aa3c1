package io.lambdadispatcher.core.internal.capacity.simulate;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.internal.pool.Choice;

/** A simulated worker, with the state that the pool sees and the times that AWS bills. */
final class SimulatedWorker extends Choice.Candidate {
    final String id;
    final int streams;
    /** Whether nobody has launched it for a time. */
    final boolean base;
    /** Time of its invocation. */
    final long launchedNanos;
    /** Time from which the worker is billed; negative = not started yet. */
    long startedNanos = -1;

    long deadlineNanos;
    boolean dialled;
    boolean open;
    boolean gone;
    /** Whether it has answered nothing for too long, so that others come first. */
    boolean doubted;

    long stoppedUntilNanos;
    int limit = Integer.MAX_VALUE;
    int busy;
    private int peakBusy;
    private long completed;

    SimulatedWorker(String id, long launchedNanos, int streams, boolean base) {
        this.id = id;
        this.streams = streams;
        this.base = base;
        this.launchedNanos = launchedNanos;
    }

    boolean hasRoom() {
        return open && busy < Math.min(streams, limit);
    }

    void onServing() {
        busy++;
        peakBusy = Math.max(peakBusy, busy);
    }

    void onServed() {
        busy--;
        completed++;
    }

    WorkerDemand sample() {
        WorkerDemand sample = new WorkerDemand(id, streams, busy, peakBusy, completed, 0, null, 0, null);
        peakBusy = busy;
        return sample;
    }
}
