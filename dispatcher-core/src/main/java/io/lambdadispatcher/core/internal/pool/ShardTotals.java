package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.capacity.Demand;
import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.ServiceTimes;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The requests of one event loop that have arrived and were served, for the capacity controller.
 * Confined to the event loop.
 */
final class ShardTotals {
    private long arrived;
    private long completed;
    private long serviceNanos;
    private ServiceTimes serviceTimes = new ServiceTimes();

    /** Counts a request that a worker could serve. Has no effect if it is counted already. */
    void onArrived(Exchange exchange) {
        arrived += exchange.place().countsAsArrived() ? 1 : 0;
    }

    /** An exchange that had a worker stream has ended. */
    void onEnded(Exchange exchange, Outcome outcome) {
        if (countsAsService(exchange, outcome)) {
            onServed(exchange);
        }
    }

    /**
     * Time spent waiting for a slow or disconnected client says nothing about workers: more workers
     * would not help.
     */
    private static boolean countsAsService(Exchange exchange, Outcome outcome) {
        return switch (outcome) {
            case COMPLETED -> true;
            // What the client has not read was dropped before, and nothing shows that it was slow.
            case CANCELLED -> exchange.isRequestEnded() && !exchange.isAnswered();
            default -> !exchange.isWaitingForClient();
        };
    }

    /** Counts the time until now as the exchange's service time. */
    void onServed(Exchange exchange) {
        completed++;
        long nanos = exchange.attempts().serviceNanos();
        serviceNanos += nanos;
        serviceTimes.record(nanos);
    }

    /**
     * Returns the totals. The caller owns the service times in it, and new ones begin here.
     *
     * @param workers {@code null} if the sample has no workers
     */
    Demand sample(int busy, int pending, Demand.Tunnels tunnels, int taken, @Nullable List<WorkerDemand> workers) {
        ServiceTimes recent = serviceTimes;
        serviceTimes = new ServiceTimes();
        return new Demand(arrived, completed, serviceNanos, busy, pending, tunnels, taken, recent, workers);
    }
}
