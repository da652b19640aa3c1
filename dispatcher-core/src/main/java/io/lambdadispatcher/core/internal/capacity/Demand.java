package io.lambdadispatcher.core.internal.capacity;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a pool looked like at a moment. Totals count from its start.
 *
 * @param arrived requests so far
 * @param completed exchanges so far that had a worker stream
 * @param serviceNanos how long they had one, in all
 * @param busy exchanges in flight
 * @param pending requests that wait for a worker stream
 * @param serviceTimes of the exchanges since the last sample; the taker's own
 * @param workers those that have dialled in; {@code null} where nobody looked
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
     * One worker's part. Totals count from its first connection.
     *
     * @param busy exchanges in flight
     * @param peakBusy the most there were since the last sample
     * @param completed exchanges that ended
     * @param failed of these: without a response, cut short, or with a status of 500 and above
     * @param timed exchanges whose time was taken (not all are)
     * @param timedNanos their time in all
     */
    public record WorkerDemand(
            String workerId, int busy, int peakBusy, long completed, long failed, long timed, long timedNanos) {

        /** Two connections of one worker. */
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
