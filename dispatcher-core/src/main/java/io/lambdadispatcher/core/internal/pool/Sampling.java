package io.lambdadispatcher.core.internal.pool;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.lambdadispatcher.core.internal.capacity.Demand;
import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.internal.loop.Loops;
import io.lambdadispatcher.core.observe.ServiceTimes;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Takes one sample of all shards of a pool. Each shard answers on its event loop, and the loop that
 * answers last adds up the parts.
 */
final class Sampling {
    private final List<PoolShard> shards;
    private final boolean withWorkers;

    @GuardedBy("this")
    private final List<Demand> parts = new ArrayList<>();

    private final CompletableFuture<Demand> whole = new CompletableFuture<>();

    Sampling(List<PoolShard> shards, boolean withWorkers) {
        this.shards = shards;
        this.withWorkers = withWorkers;
    }

    CompletionStage<Demand> start() {
        for (PoolShard shard : shards) {
            if (!Loops.execute(shard.loop(), () -> add(shard.sample(withWorkers)))) {
                // The embedding program has shut down that event loop and all its requests.
                add(new Demand(0, 0, 0, 0, 0, Demand.Tunnels.NONE, 0, new ServiceTimes(), null));
            }
        }
        return whole;
    }

    private void add(Demand part) {
        boolean last;
        synchronized (this) {
            parts.add(part);
            last = parts.size() == shards.size();
        }
        if (last) {
            whole.complete(sum());
        }
    }

    private synchronized Demand sum() {
        long arrived = 0;
        long completed = 0;
        long serviceNanos = 0;
        int busy = 0;
        int pending = 0;
        Demand.Tunnels tunnels = Demand.Tunnels.NONE;
        int taken = 0;
        ServiceTimes serviceTimes = new ServiceTimes();
        Map<String, WorkerDemand> workers = new LinkedHashMap<>();
        for (Demand part : parts) {
            arrived += part.arrived();
            completed += part.completed();
            serviceNanos += part.serviceNanos();
            busy += part.busy();
            pending += part.pending();
            tunnels = tunnels.plus(part.tunnels());
            taken += part.taken();
            serviceTimes.addAll(part.serviceTimes());
            if (part.workers() != null) {
                part.workers().forEach(worker -> workers.merge(worker.workerId(), worker, WorkerDemand::plus));
            }
        }
        return new Demand(
                arrived,
                completed,
                serviceNanos,
                busy,
                pending,
                tunnels,
                taken,
                serviceTimes,
                withWorkers ? List.copyOf(workers.values()) : null);
    }
}
