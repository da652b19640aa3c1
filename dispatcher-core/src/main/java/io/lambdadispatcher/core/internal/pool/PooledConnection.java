package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import java.util.ArrayDeque;

/**
 * A worker connection as its pool shard sees it: its free worker streams, and how many are busy.
 * Confined to the connection's event loop; changed through {@link PoolShard} only.
 */
public final class PooledConnection extends LeastOutstanding.Entry {
    /** The penalty is larger than the number of streams of a connection can be. */
    private static final int MAX_PENALTY_BITS = 10;

    private final String workerId;
    final ArrayDeque<Carrier> free = new ArrayDeque<>();
    /** Worker streams that carry an exchange, or whose last one has not been answered for yet. */
    int busy;

    int peakBusy;
    boolean open;

    /** Exchanges it may be given at once. */
    int limit = Integer.MAX_VALUE;

    /** What it contributes to the shard's permits. */
    int offered;

    /** In a row, since an exchange ended in another way. */
    private int refusals;

    // How its exchanges went, from its start.
    private long completed;
    private long failed;
    private long timed;
    private long timedNanos;

    public PooledConnection(String workerId) {
        this.workerId = workerId;
    }

    /**
     * A request was refused, which counts as a failure unless the worker takes no requests and the
     * two have crossed on the way.
     */
    public void onRefused() {
        int before = refusals;
        onExchangeEnd(open);
        refusals = open ? before + 1 : 0;
    }

    /**
     * An exchange has ended, and was not refused.
     *
     * @param failure no response, one that was cut short, or one with a status of 500 and above
     */
    public void onExchangeEnd(boolean failure) {
        completed++;
        failed += failure ? 1 : 0;
        refusals = 0;
    }

    /** An exchange whose time was taken has ended. */
    public void onTimed(long nanos) {
        timed++;
        timedNanos += nanos;
    }

    /**
     * Its place among the others: the fewer exchanges in flight, the sooner it is chosen. Whoever
     * refuses is done with a request immediately, and would be the least busy of all. So each
     * refusal in a row doubles a penalty, until an exchange ends in another way.
     */
    int rank() {
        return refusals == 0 ? busy : busy + (1 << Math.min(refusals, MAX_PENALTY_BITS));
    }

    int offers() {
        return open ? Math.max(0, Math.min(free.size(), limit - busy)) : 0;
    }

    /** Since the last call, and from its start. */
    WorkerDemand sample() {
        WorkerDemand sample = new WorkerDemand(workerId, busy, peakBusy, completed, failed, timed, timedNanos);
        peakBusy = busy;
        return sample;
    }

    public String workerId() {
        return workerId;
    }
}
