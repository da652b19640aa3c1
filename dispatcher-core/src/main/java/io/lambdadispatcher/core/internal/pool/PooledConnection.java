package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import java.util.ArrayDeque;

/**
 * A worker connection as its pool shard sees it: its free worker streams, and the number of busy
 * ones. Confined to the connection's event loop. Only {@link PoolShard} changes it.
 */
public final class PooledConnection extends LeastOutstanding.Entry {
    /**
     * With this exponent, the penalty is larger than the number of streams of a connection can be.
     */
    private static final int MAX_PENALTY_BITS = 10;

    private final String workerId;
    final ArrayDeque<Carrier> free = new ArrayDeque<>();
    /**
     * Number of worker streams that carry an exchange, or whose worker has not ended the previous
     * one.
     */
    int busy;

    int peakBusy;
    boolean open;

    /** Maximum number of exchanges in flight. */
    int limit = Integer.MAX_VALUE;

    /** What the connection adds to the shard's permits. */
    int offered;

    /** Number of refused requests in a row. */
    private int refusals;

    // Counts of exchanges since the connection started.
    private long completed;
    private long failed;
    private long timed;
    private long timedNanos;

    public PooledConnection(String workerId) {
        this.workerId = workerId;
    }

    /**
     * Counts a refused request. It is a failure, unless the worker is draining and the request was
     * sent before the dispatcher knew.
     */
    public void onRefused() {
        int before = refusals;
        onExchangeEnd(open);
        refusals = open ? before + 1 : 0;
    }

    /**
     * Counts an exchange that has ended and was not refused.
     *
     * @param failure whether there was no response, an incomplete one, or one with a status of at
     *     least 500
     */
    public void onExchangeEnd(boolean failure) {
        completed++;
        failed += failure ? 1 : 0;
        refusals = 0;
    }

    /** Counts the time of an exchange that was measured. */
    public void onTimed(long nanos) {
        timed++;
        timedNanos += nanos;
    }

    /**
     * Returns the connection's rank: the fewer exchanges in flight, the sooner it is chosen. A
     * worker that refuses requests is always the least busy. Therefore, each refusal in a row
     * doubles a penalty, until an exchange ends in another way.
     */
    int rank() {
        return refusals == 0 ? busy : busy + (1 << Math.min(refusals, MAX_PENALTY_BITS));
    }

    int offers() {
        return open ? Math.max(0, Math.min(free.size(), limit - busy)) : 0;
    }

    /** Returns the counts since the start, and the peak since the previous call. */
    WorkerDemand sample() {
        WorkerDemand sample = new WorkerDemand(workerId, busy, peakBusy, completed, failed, timed, timedNanos);
        peakBusy = busy;
        return sample;
    }

    public String workerId() {
        return workerId;
    }
}
