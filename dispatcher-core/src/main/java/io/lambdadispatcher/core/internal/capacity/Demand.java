package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.observe.ServiceTimes;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A sample of a function's pool. Totals count from the start of the pool.
 *
 * @param arrived total requests
 * @param completed total exchanges that had a worker stream and have ended
 * @param serviceNanos total time for which completed exchanges had a worker stream
 * @param busy exchanges in flight
 * @param pending requests that are queued for a worker stream
 * @param tunnels those that the handler in process does not serve, if there is one
 * @param taken worker streams that other dispatchers use, as workers say when they refuse a
 *     request because of them. It fades within some tenths of a second without a refusal
 * @param serviceTimes durations of the exchanges that ended since the previous sample. Not changed
 *     any more
 * @param workers the connected workers; {@code null} if the sample has no workers
 */
public record Demand(
        long arrived,
        long completed,
        long serviceNanos,
        int busy,
        int pending,
        Tunnels tunnels,
        int taken,
        ServiceTimes serviceTimes,
        @Nullable List<WorkerDemand> workers) {

    /** Returns the sum of the event loops' demands. */
    public static Demand sum(List<Demand> parts, boolean withWorkers) {
        ServiceTimes times = new ServiceTimes();
        Map<String, WorkerDemand> sums = new LinkedHashMap<>();
        for (Demand part : parts) {
            times.addAll(part.serviceTimes);
            if (part.workers != null) {
                part.workers.forEach(each -> sums.merge(each.workerId, each, WorkerDemand::plus));
            }
        }
        return new Demand(
                parts.stream().mapToLong(Demand::arrived).sum(),
                parts.stream().mapToLong(Demand::completed).sum(),
                parts.stream().mapToLong(Demand::serviceNanos).sum(),
                parts.stream().mapToInt(Demand::busy).sum(),
                parts.stream().mapToInt(Demand::pending).sum(),
                parts.stream().map(Demand::tunnels).reduce(Tunnels.NONE, Tunnels::plus),
                parts.stream().mapToInt(Demand::taken).sum(),
                times,
                withWorkers ? List.copyOf(sums.values()) : null);
    }

    /**
     * WebSockets that only some of the workers serve.
     *
     * @param open counted in {@link #busy}, too
     * @param waiting not counted in {@link #pending}
     */
    public record Tunnels(int open, int waiting) {
        public static final Tunnels NONE = new Tunnels(0, 0);

        public Tunnels plus(Tunnels other) {
            return new Tunnels(open + other.open, waiting + other.waiting);
        }
    }

    /**
     * The demand of one worker, or of one of its connections. Totals count from its connection.
     *
     * @param streams worker streams that it has opened, or the fewer exchanges that it wants at
     *     once
     * @param busy exchanges in flight
     * @param peakBusy the most exchanges in flight since the previous sample
     * @param completed total exchanges that have ended
     * @param failed completed exchanges without a response, with an incomplete one, or with a
     *     status of 500 or above
     * @param answerTimes times to the first byte of the exchanges that ended without failure since
     *     the previous sample; {@code null} if there were none. Not changed any more
     * @param ejections how often the worker was ejected
     * @param ejection why the worker is ejected, in one line; {@code null} if it is not
     */
    public record WorkerDemand(
            String workerId,
            int streams,
            int busy,
            int peakBusy,
            long completed,
            long failed,
            @Nullable ServiceTimes answerTimes,
            int ejections,
            @Nullable String ejection) {

        /** Returns the sum of two connections of one worker. */
        public WorkerDemand plus(WorkerDemand other) {
            return new WorkerDemand(
                    workerId,
                    streams + other.streams,
                    busy + other.busy,
                    peakBusy + other.peakBusy,
                    completed + other.completed,
                    failed + other.failed,
                    sum(answerTimes, other.answerTimes),
                    Math.max(ejections, other.ejections),
                    ejection == null ? other.ejection : ejection);
        }

        private static @Nullable ServiceTimes sum(@Nullable ServiceTimes a, @Nullable ServiceTimes b) {
            if (a == null || b == null) {
                return a == null ? b : a;
            }
            ServiceTimes sum = new ServiceTimes();
            sum.addAll(a);
            sum.addAll(b);
            return sum;
        }

        /** Returns the totals since an earlier sample of this worker, with the latest peaks, times
         * and ejections. */
        WorkerDemand minus(WorkerDemand earlier) {
            return new WorkerDemand(
                    workerId,
                    streams,
                    busy,
                    peakBusy,
                    completed - earlier.completed,
                    failed - earlier.failed,
                    answerTimes,
                    ejections,
                    ejection);
        }
    }
}
