package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.policy.WorkerHealth.Verdict;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Carries out the verdicts of {@link io.lambdadispatcher.core.internal.policy.WorkerHealth} on the
 * worker connections of one event loop, and starts the probes of ejected workers. Confined to this
 * event loop.
 */
final class Ejector {
    private final PoolShard shard;
    /** Worker connections of this loop by worker id. */
    private final Map<String, Set<PooledConnection>> members;

    private final Consumer<PooledConnection> onLimit;

    /** @param onLimit called when a connection may take more or fewer exchanges than before */
    Ejector(PoolShard shard, Map<String, Set<PooledConnection>> members, Consumer<PooledConnection> onLimit) {
        this.shard = shard;
        this.members = members;
        this.onLimit = onLimit;
    }

    void onVerdict(PooledConnection member, Verdict verdict) {
        switch (verdict) {
            case NONE -> {}
            case EJECT -> shard.pool().openWorkers.eject(member);
            case PROBE_AGAIN -> member.judge().offerProbe();
            case PROBE_FAILED -> scheduleProbe(member);
            case RETURN -> shard.pool().openWorkers.restore(member);
        }
        onLimit.accept(member);
    }

    /** Ejects the connections of a worker. */
    void eject(String workerId, String reason) {
        for (PooledConnection member : of(workerId)) {
            member.judge().eject(shard.nanoTime(), reason);
            onLimit.accept(member);
            scheduleProbe(member);
        }
    }

    /** Ejects a connection that an ejected worker has opened later. */
    void ejectAsItsWorker(PooledConnection member) {
        member.judge().eject(shard.nanoTime(), "the worker was ejected before");
        scheduleProbe(member);
    }

    /** Lets the connections of a worker serve again. */
    void restore(String workerId) {
        for (PooledConnection member : of(workerId)) {
            member.judge().restore();
            cancelProbe(member);
            onLimit.accept(member);
        }
    }

    private Collection<PooledConnection> of(String workerId) {
        return members.getOrDefault(workerId, Set.of());
    }

    /** Applies {@link io.lambdadispatcher.core.internal.policy.GroupHealth#areAllEjected}. */
    void onGroupChange() {
        for (Set<PooledConnection> connections : members.values()) {
            for (PooledConnection member : connections) {
                if (member.judge().isEjected()) {
                    onLimit.accept(member);
                }
            }
        }
    }

    private void scheduleProbe(PooledConnection member) {
        cancelProbe(member);
        long wait = member.judge().probeWaitNanos(shard.nanoTime());
        member.probeTimer = shard.loop().schedule(() -> probe(member), wait, TimeUnit.NANOSECONDS);
    }

    private void probe(PooledConnection member) {
        if (member.judge().probeWaitNanos(shard.nanoTime()) > 0) {
            scheduleProbe(member);
        } else {
            member.judge().offerProbe();
            onLimit.accept(member);
        }
    }

    static void cancelProbe(PooledConnection member) {
        if (member.probeTimer != null) {
            member.probeTimer.cancel(false);
            member.probeTimer = null;
        }
    }
}
