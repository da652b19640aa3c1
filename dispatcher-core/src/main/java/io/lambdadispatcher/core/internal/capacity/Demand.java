package io.lambdadispatcher.core.internal.capacity;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The state of a pool at a moment. Totals count from the pool's start.
 *
 * @param arrived requests so far
 * @param completed exchanges so far that had a worker stream
 * @param serviceNanos sum of the times for which they had one
 * @param busy exchanges in flight
 * @param pending queued requests
 * @param serviceTimes of the exchanges since the previous sample; owned by the caller
 * @param workers the connected workers; {@code null} if not asked for
 */
public record Demand(
        long arrived,
        long completed,
        long serviceNanos,
        int busy,
        int pending,
        ServiceTimes serviceTimes,
        @Nullable List<WorkerDemand> workers) {

    /**
     * The demand on one worker. Totals count from its first connection.
     *
     * @param busy exchanges in flight
     * @param peakBusy maximum number of exchanges in flight since the previous sample
     * @param completed exchanges that have ended
     * @param failed ended exchanges without a response, with an incomplete one, or with a status of
     *     at least 500
     * @param timed exchanges whose time was measured, which are not all
     * @param timedNanos sum of their times
     */
    public record WorkerDemand(
            String workerId, int busy, int peakBusy, long completed, long failed, long timed, long timedNanos) {

        /** Adds the demand of another connection of the same worker. */
        public WorkerDemand plus(WorkerDemand other) {
            return new WorkerDemand(
                    workerId,
                    busy + other.busy,
                    peakBusy + other.peakBusy,
                    completed + other.completed,
                    failed + other.failed,
                    timed + other.timed,
                    timedNanos + other.timedNanos);
        }
    }
}
