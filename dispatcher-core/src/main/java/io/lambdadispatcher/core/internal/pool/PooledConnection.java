package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.policy.Rendezvous;
import io.lambdadispatcher.core.internal.policy.SlowStart;
import io.lambdadispatcher.core.internal.policy.WorkerTag;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A worker connection in its pool shard: its free worker streams, the number of busy ones, and how
 * its exchanges ended. Confined to the connection's event loop, except for what affinity reads.
 * Only {@link PoolShard} changes its streams.
 */
public final class PooledConnection extends LeastOutstanding.Entry implements Rendezvous.Candidate {
    private static final VarHandle BUSY = handle("busy");
    private static final VarHandle OFFERED = handle("offered");

    /**
     * The largest penalty, which is larger than the number of streams that a connection can have.
     */
    private static final int MAX_PENALTY_BITS = 10;

    /**
     * The largest penalty of a worker whose attempts are given up. It is smaller, because the
     * worker does serve requests: others must be busier by 16 before it gets one.
     */
    private static final int MAX_GIVEN_UP_BITS = 4;

    /**
     * The CPU time by which requests may be delayed so that several are sent to this worker in one
     * turn. A packet for each request costs the dispatcher and the worker far more than this delay
     * costs the client.
     */
    private static final int BATCH_CPU_MICROS = 250;

    private static final int MAX_BATCH = 50;

    /** The credit of a worker whose version is not watched. */
    private static final int UNLIMITED = Integer.MAX_VALUE;

    private static final long FIRST_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long MAX_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final String workerId;
    private final long tag;

    /** The shard of the connection, which {@link PoolShard#onMember} sets. */
    @Nullable
    PoolShard shard;

    final ArrayDeque<Carrier> free = new ArrayDeque<>();
    /**
     * Worker streams that carry an exchange, or a cancelled one that the worker has not ended yet.
     */
    int busy;

    int peakBusy;

    /** Exchanges since the connection opened. */
    private long started;

    boolean open;

    /** The maximum number of concurrent exchanges. */
    int limit = Integer.MAX_VALUE;

    /**
     * The maximum number of concurrent exchanges because other dispatchers use the worker. After a
     * BUSY, this dispatcher has as many as fit. When one of them ends, another may begin. After a
     * wait, one more is tried, then two more, and so on.
     */
    private int room = Integer.MAX_VALUE;

    private int trial;
    private long trialWaitNanos = FIRST_WAIT_NANOS;
    private boolean tried;

    /** Set while {@link #room} limits the exchanges. */
    @Nullable
    Future<?> trialTimer;

    /** The version of the worker's code; empty = not known. */
    String version = "";

    /**
     * How many exchanges may begin, if the worker's version is watched. An exchange takes one. If
     * it is served well, it returns that one and adds another, up to the number of streams. Without
     * this, a version that fails quickly would be the least busy, and so attract requests.
     */
    private int credit = UNLIMITED;

    /** The number of permits that this connection contributes to the shard. */
    int offered;

    /** The number of exchanges by which this connection may exceed the least busy one. */
    int batch;

    /** How much slower the worker is than others, because it is fresh: {@link SlowStart}. */
    int slowness = SlowStart.ONE;

    /** Whether the worker has just started. */
    boolean fresh;

    /** What is added to the rank, because the worker is in another availability zone. */
    private int zonePenalty;

    /** Consecutive refusals since an exchange ended in another way. */
    private int refusals;

    /** Attempts that were given up for another worker since one was served well. */
    private int givenUp;

    // How its exchanges ended, since the connection opened.
    private long completed;
    private long failed;
    private long timed;
    private long timedNanos;

    public PooledConnection(String workerId) {
        this.workerId = workerId;
        this.tag = WorkerTag.of(workerId);
    }

    private static VarHandle handle(String field) {
        try {
            return MethodHandles.lookup().findVarHandle(PooledConnection.class, field, int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    @Override
    public long tag() {
        return tag;
    }

    /** Any thread. Other threads may see an earlier number. */
    @Override
    public int load() {
        return (int) BUSY.getOpaque(this);
    }

    /** Any thread. Other threads may see an earlier state, so the shard decides again. */
    @Override
    public boolean hasRoom() {
        PoolShard its = shard;
        return its != null && (int) OFFERED.getOpaque(this) > 0 && its.permits() > 0;
    }

    /**
     * Records that the worker refused a request. This is no failure if the connection is no longer
     * open for requests: the request and the worker's message crossed on the network.
     */
    public void onRefused() {
        int before = refusals;
        onExchangeEnd(open);
        refusals = open ? before + 1 : 0;
    }

    /**
     * Records that an exchange has ended that the worker did not refuse.
     *
     * @param failure whether there was no response, an incomplete one, or one with a status of 500
     *     or above
     */
    public void onExchangeEnd(boolean failure) {
        completed++;
        failed += failure ? 1 : 0;
        refusals = 0;
    }

    /** Records that an attempt was given up for another worker, which policies ask for. */
    void onGivenUp() {
        givenUp = Math.min(MAX_GIVEN_UP_BITS, givenUp + 1);
    }

    /** Records that the worker has served a request well. */
    public void onServed() {
        givenUp = 0;
        if (credit != UNLIMITED) {
            credit = Math.max(credit, Math.min(free.size() + busy, credit + 2));
        }
    }

    /**
     * Limits the exchanges of a worker whose version is watched.
     *
     * @param least how many may begin at least, from now on
     */
    void watch(int least) {
        credit = credit == UNLIMITED ? least : Math.max(credit, least);
    }

    void endWatch() {
        credit = UNLIMITED;
    }

    /**
     * Records how much CPU time the worker uses for a request.
     *
     * @param micros 0 = not known
     */
    public void onRequestCpu(int micros) {
        batch = micros <= 0 ? 0 : Math.min(MAX_BATCH, BATCH_CPU_MICROS / micros);
    }

    /**
     * Records that the worker is in another availability zone, to which data takes longer and is
     * not free. Workers in the dispatcher's own zone come first until they have more exchanges than
     * this one by half of its streams.
     */
    public void onOtherZone(int streams) {
        zonePenalty = (streams + 1) / 2;
    }

    /** Records the duration of an exchange that was measured. */
    public void onTimed(long nanos) {
        timed++;
        timedNanos += nanos;
    }

    /**
     * Returns the rank among the worker connections: the lowest rank is chosen first. It is the
     * number of exchanges in flight, plus penalties. A worker whose attempts are given up gets
     * fewer requests, because it is slow or fails quickly. A worker that refuses requests ends them
     * immediately and would be the least busy of all. So each consecutive refusal doubles the
     * penalty, until an exchange ends in another way.
     */
    int rank() {
        int rank = busy + zonePenalty + (givenUp == 0 ? 0 : 1 << givenUp);
        if (slowness != SlowStart.ONE) {
            rank = SlowStart.multiply(rank, slowness);
        }
        return refusals == 0 ? rank : rank + (1 << Math.min(refusals, MAX_PENALTY_BITS));
    }

    /** An exchange takes a free stream. */
    Carrier take() {
        busy++;
        peakBusy = Math.max(peakBusy, busy);
        started++;
        credit -= credit == UNLIMITED ? 0 : 1;
        return free.pop();
    }

    int offers() {
        return open ? Math.max(0, Math.min(Math.min(free.size(), credit), Math.min(limit, room) - busy)) : 0;
    }

    /**
     * The worker had no room for one of the busy streams' exchanges.
     *
     * @return whether a new wait begins
     */
    boolean onBusy() {
        room = Math.min(room, busy - 1);
        trial = 1;
        boolean again = tried;
        if (again) {
            tried = false;
            trialWaitNanos = Math.min(MAX_WAIT_NANOS, 2 * trialWaitNanos);
        }
        return again || trialTimer == null;
    }

    /** The worker keeps room for one more exchange. */
    void onRoom() {
        room = Math.max(room, busy + 1);
    }

    /**
     * The wait is over. The worker may have more room.
     *
     * @return whether another wait begins
     */
    boolean onTrial() {
        if (tried) {
            trialWaitNanos = FIRST_WAIT_NANOS;
        }
        tried = true;
        room = Math.max(room, busy + trial);
        trial *= 2;
        if (room < busy + free.size()) {
            return true;
        }
        room = Integer.MAX_VALUE;
        return false;
    }

    long trialWaitNanos() {
        return trialWaitNanos;
    }

    WorkerUse use() {
        return new WorkerUse(free.size() + busy, busy, open ? limit : 0, completed, failed);
    }

    /** Returns the totals since the connection opened, and the peak since the previous call. */
    WorkerDemand sample() {
        WorkerDemand sample = new WorkerDemand(workerId, busy, peakBusy, completed, failed, timed, timedNanos);
        peakBusy = busy;
        return sample;
    }

    public long started() {
        return started;
    }

    public String workerId() {
        return workerId;
    }
}
