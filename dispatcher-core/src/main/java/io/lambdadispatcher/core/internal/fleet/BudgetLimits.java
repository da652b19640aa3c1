package io.lambdadispatcher.core.internal.fleet;

import io.lambdadispatcher.core.internal.capacity.CapacityController;
import io.lambdadispatcher.core.options.DownstreamBudget;
import io.lambdadispatcher.core.options.FunctionOptions;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The limits of one function, which hold for all dispatchers of a fleet together.
 *
 * @param maxWorkers maximum number of workers that are not being replaced
 * @param maxAlive maximum number of all workers
 * @param launchesPerMinute maximum number of launches in 60 s
 * @param megabyteMillisPerHour maximum of memory multiplied by running time in any 60 minutes; 0 =
 *     no limit
 * @param workerMegabytes memory of one worker
 * @param dialInMillis the time after its grant within which a worker must first connect
 * @param lifeMillis the longest time for which a worker runs, from its start. Workers that live
 *     longer, as local processes do, are charged for again each time
 * @param downstream the connections that all workers share; {@code null} = no limit
 */
public record BudgetLimits(
        int maxWorkers,
        int maxAlive,
        int launchesPerMinute,
        long megabyteMillisPerHour,
        int workerMegabytes,
        long dialInMillis,
        long lifeMillis,
        @Nullable DownstreamBudget downstream) {

    /**
     * The maximum of maxWorkers. Twice as many slots of about 75 bytes, and what else is in a
     * budget, must fit into one entry of the ledger.
     */
    public static final int MOST_WORKERS = 1800;

    /** For how long a slot can be used after it was granted. */
    private static final long MAX_UNUSED_MILLIS = 10_000;

    private static final String SEPARATOR = ", ";
    private static final double MEGABYTE_MILLIS_PER_GB_SECOND = 1024.0 * 1000;

    public static BudgetLimits of(FunctionOptions function) {
        return new BudgetLimits(
                function.capacity().maxWorkers(),
                function.capacity().maxAlive(),
                function.launching().launchesPerMinute(),
                (long) (function.launching().gbSecondsPerHour() * MEGABYTE_MILLIS_PER_GB_SECOND),
                function.launching().workerMegabytes(),
                function.launching().launchTimeout().toMillis(),
                CapacityController.longestLife(function).toMillis(),
                function.capacity().downstream());
    }

    static double gbSeconds(long megabyteMillis) {
        return megabyteMillis / MEGABYTE_MILLIS_PER_GB_SECOND;
    }

    /** Returns one part for each limit, with the name of its setting, as operators see it. */
    @Override
    public String toString() {
        return "function.max-workers=" + maxWorkers
                + ", function.launches-per-minute=" + launchesPerMinute
                + ", function.spending-limit=" + gbSeconds(megabyteMillisPerHour)
                + ", function.worker-memory=" + workerMegabytes
                + ", function.launch-timeout=" + dialInMillis / 1000.0 + " s"
                + ", function.max-worker-age=" + lifeMillis / 1000.0 + " s"
                + (downstream == null
                        ? ""
                        : ", function.downstream-connections=" + downstream.connections() + " with a share of "
                                + downstream.share());
    }

    /** Returns how many connections each new worker may open; 0 = there is no limit. */
    int downstreamShare() {
        return downstream == null ? 0 : downstream.share();
    }

    /**
     * Returns the difference between the limits of two dispatchers in one line, or {@code null} if
     * there is none.
     *
     * @param other the text of the other dispatcher's limits
     */
    @Nullable
    String difference(String other) {
        Set<String> mine = new LinkedHashSet<>(List.of(toString().split(SEPARATOR)));
        Set<String> theirs = new LinkedHashSet<>(List.of(other.split(SEPARATOR)));
        Set<String> both = new HashSet<>(mine);
        both.retainAll(theirs);
        mine.removeAll(both);
        theirs.removeAll(both);
        List<String> parts = new ArrayList<>(theirs);
        if (!mine.isEmpty()) {
            parts.add("not " + String.join(SEPARATOR, mine));
        }
        return parts.isEmpty() ? null : String.join(SEPARATOR, parts);
    }

    /** Returns the time from a launch until the worker has certainly ended. */
    long launchMillis() {
        return dialInMillis + lifeMillis;
    }

    /** Returns the time for which a slot is granted. */
    long slotMillis() {
        return MAX_UNUSED_MILLIS + launchMillis();
    }
}
