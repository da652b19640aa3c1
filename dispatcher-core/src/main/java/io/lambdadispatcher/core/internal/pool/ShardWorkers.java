package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.policy.GroupHealth;
import io.lambdadispatcher.core.internal.policy.SlowStart;
import io.lambdadispatcher.core.internal.policy.WorkerHealth;
import io.netty.channel.EventLoop;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * A function's worker connections on one event loop. They report here what changes the number of
 * exchanges that they can take: streams that open, become free or close, limits, a busy worker,
 * ejections. Each change is counted in {@link FreeStreams} and then offered to queued requests.
 * Confined to the event loop.
 */
public final class ShardWorkers {
    private final PoolShard shard;
    private final FunctionPool pool;
    private final EventLoop loop;
    private final FreeStreams free;
    private final WakeUps wakeUps;
    private final Map<String, Set<PooledConnection>> byWorkerId = new LinkedHashMap<>();
    private final GroupHealth.Tally baseTally;
    private final GroupHealth.Tally launchedTally;
    final Ejector ejector;

    /** @param shard the shard to which the connections belong from {@link #onMember} on */
    ShardWorkers(PoolShard shard, FreeStreams free, WakeUps wakeUps) {
        this.shard = shard;
        this.pool = shard.pool();
        this.loop = shard.loop();
        this.free = free;
        this.wakeUps = wakeUps;
        this.baseTally = pool.openWorkers.healthOf(true).newTally();
        this.launchedTally = pool.openWorkers.healthOf(false).newTally();
        this.ejector = new Ejector(shard, byWorkerId, this::offer);
    }

    /** Adds a worker connection. This is the first call for it. */
    public void onMember(PooledConnection member) {
        assert loop.inEventLoop();
        member.shard = shard;
        member.health = new WorkerHealth(
                pool.openWorkers.healthOf(member.isBase()), member.isBase() ? baseTally : launchedTally);
        beginSlowStart(member);
        byWorkerId
                .computeIfAbsent(member.workerId(), id -> new LinkedHashSet<>(2))
                .add(member);
        if (isWorkerEjected(member)) {
            ejector.ejectAsItsWorker(member);
        }
    }

    private boolean isWorkerEjected(PooledConnection member) {
        return pool.openWorkers.healthOf(member.isBase()).isEjected(member.workerId());
    }

    private void beginSlowStart(PooledConnection member) {
        long nanos = pool.options().slowStart().toNanos();
        if (nanos > 0) {
            member.fresh = true;
            member.slowness = SlowStart.factor(0, pool.warmCpuMicros());
            loop.schedule(() -> endSlowStart(member), nanos, TimeUnit.NANOSECONDS);
        }
    }

    private void endSlowStart(PooledConnection member) {
        member.fresh = false;
        member.slowness = SlowStart.ONE;
        free.settle(member);
    }

    /**
     * Removes a worker connection. Its streams are closed later, each with a call of {@link
     * #onStreamClosed}.
     */
    public void onMemberGone(PooledConnection member) {
        setOpen(member, false);
        cancelTrial(member);
        Ejector.cancelProbe(member);
        free.forget(member);
        byWorkerId.computeIfPresent(member.workerId(), (id, its) -> its.remove(member) && its.isEmpty() ? null : its);
    }

    /** Sets whether requests may be sent to the member's streams. */
    public void setOpen(PooledConnection member, boolean open) {
        assert loop.inEventLoop();
        if (member.open != open) {
            if (open && member.judge().isEjected() && !isWorkerEjected(member)) {
                // Its group has forgotten the worker, which was not open for a time.
                ejector.restore(member.workerId());
            }
            member.open = open;
            free.settle(member);
            pool.openWorkers.setOpen(member, open);
            if (open) {
                wakeUps.onOffered();
            }
        }
    }

    /** Adds a worker stream that has opened. */
    public void onStreamOpened(PooledConnection member, Carrier stream) {
        assert loop.inEventLoop();
        pool.onStreamOpened(shard.nanoTime());
        member.streams.incrementAndGet();
        addFree(member, stream);
    }

    /** Adds a worker stream whose exchange has ended in both directions. */
    public void onStreamFree(PooledConnection member, Carrier stream) {
        assert loop.inEventLoop();
        member.busy--;
        addFree(member, stream);
    }

    private void addFree(PooledConnection member, Carrier stream) {
        member.free.push(stream);
        offer(member);
    }

    /**
     * Removes a worker stream that has closed.
     *
     * @param wasFree whether it carried no exchange
     */
    public void onStreamClosed(PooledConnection member, Carrier stream, boolean wasFree) {
        assert loop.inEventLoop();
        pool.streams.decrementAndGet();
        member.streams.decrementAndGet();
        if (wasFree) {
            member.free.remove(stream);
        } else {
            member.busy--;
        }
        free.settle(member);
        // A worker at its limit can now take one more exchange on a free stream.
        if (member.offered > 0) {
            wakeUps.onOffered();
        }
    }

    /**
     * Offers no more of the connection's streams than the worker has room for. Called while the
     * refused exchange still occupies its stream.
     */
    public void onBusy(PooledConnection member) {
        assert loop.inEventLoop();
        // Known from the start in a fleet, but dispatchers of several fleets can share a worker.
        pool.setShared();
        if (member.onBusy()) {
            cancelTrial(member);
            scheduleTrial(member);
        }
        free.settle(member);
    }

    /** An attempt on one of the connection's streams was given up for another worker. */
    public void onGivenUp(PooledConnection member) {
        assert loop.inEventLoop();
        member.onGivenUp(shard.nanoTime());
    }

    /** The worker, which was busy, now keeps room for one exchange. */
    public void onRoom(PooledConnection member) {
        assert loop.inEventLoop();
        member.onRoom();
        offer(member);
    }

    private void scheduleTrial(PooledConnection member) {
        member.trialTimer = loop.schedule(() -> onTrial(member), member.trialWaitNanos(), TimeUnit.NANOSECONDS);
    }

    private static void cancelTrial(PooledConnection member) {
        if (member.trialTimer != null) {
            member.trialTimer.cancel(false);
            member.trialTimer = null;
        }
    }

    private void onTrial(PooledConnection member) {
        member.trialTimer = null;
        if (member.onTrial()) {
            scheduleTrial(member);
        }
        offer(member);
    }

    /**
     * The worker has reported how much processor time it uses for a request.
     *
     * @param micros 0 = not known
     */
    public void onRequestCpu(PooledConnection member, int micros) {
        assert loop.inEventLoop();
        member.onRequestCpu(micros);
        if (micros > 0 && member.fresh) {
            member.slowness = SlowStart.factor(micros, pool.warmCpuMicros());
            free.settle(member);
        } else if (micros > 0) {
            pool.onWarmCpu(micros);
        }
    }

    /**
     * The worker has said how many concurrent exchanges it takes on this connection.
     *
     * @param exchanges 1 or more
     */
    public void onStated(PooledConnection member, int exchanges) {
        assert loop.inEventLoop();
        member.onStated(exchanges);
        offer(member);
    }

    /**
     * Limits the concurrent exchanges of each of the worker's connections on this event loop.
     */
    void limit(String workerId, int exchanges) {
        assert loop.inEventLoop();
        for (PooledConnection member : byWorkerId.getOrDefault(workerId, Set.of())) {
            member.impose(exchanges);
            free.settle(member);
        }
        wakeUps.onOffered();
    }

    /** Applies whether and how far base workers come before launched ones now. */
    void preferBase() {
        assert loop.inEventLoop();
        free.setBaseUtilization(pool.openWorkers.baseUtilization());
        byWorkerId.values().forEach(connections -> connections.forEach(free::settle));
    }

    /** Counts what the connection can take now, and offers it to queued requests. */
    private void offer(PooledConnection member) {
        free.settle(member);
        if (member.open) {
            wakeUps.onOffered();
        }
    }

    /** Adds what the connections do to the sums of their workers. */
    void inspect(Map<String, WorkerUse> sums) {
        assert loop.inEventLoop();
        for (Set<PooledConnection> connections : byWorkerId.values()) {
            connections.forEach(each -> sums.merge(each.workerId(), each.use(), WorkerUse::plus));
        }
    }

    /** Returns how many worker streams other dispatchers use, as far as workers have said so. */
    int taken() {
        int sum = 0;
        for (Set<PooledConnection> connections : byWorkerId.values()) {
            for (PooledConnection each : connections) {
                sum += each.taken();
            }
        }
        return sum;
    }

    /** Returns what each connection does, for the capacity controller. */
    List<WorkerDemand> sample() {
        return byWorkerId.values().stream()
                .flatMap(Set::stream)
                .map(PooledConnection::sample)
                .toList();
    }
}
