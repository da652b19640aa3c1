package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.observe.CapacitySnapshot.Scheduled;
import io.lambdadispatcher.core.options.FunctionOptions;
import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The minimum of one function that its schedule demands now, and what this has cost and saved. Both
 * are compared with the workers that there would be without the schedule: those that were wanted
 * otherwise, each a start later. Confined to the controller's thread.
 */
final class ScheduledWorkers {
    /** The spread of starts, in addition to twice their mean. */
    private static final long SPARE_NANOS = TimeUnit.SECONDS.toNanos(2);

    private static final double SECOND = TimeUnit.SECONDS.toNanos(1);

    private final InstantSource clock;
    /** The fewest workers of a start's time, negated. */
    private final WindowMax fewest = new WindowMax(0);

    private FunctionOptions function;
    private boolean started;
    private long sampledNanos;
    private long arrived;
    private int minimum;
    private double gbSeconds;
    private double requests;

    ScheduledWorkers(FunctionOptions function, InstantSource clock) {
        this.function = function;
        this.clock = clock;
    }

    void setOptions(FunctionOptions value) {
        function = value;
    }

    /**
     * Returns the minimum that the schedule demands now. It applies so early that the workers are
     * ready when its time begins.
     *
     * @param startNanos mean time from launch until a worker is ready
     */
    int evaluate(long startNanos) {
        minimum = function.capacity().schedule().workers(clock.instant(), workers -> lead(workers, startNanos));
        return minimum;
    }

    private Duration lead(int workers, long startNanos) {
        int fullMinutes = (workers - 1) / function.launching().launchesPerMinute();
        return Duration.ofMinutes(fullMinutes).plusNanos(2 * startNanos + SPARE_NANOS);
    }

    /** Returns the minimum at the latest evaluation. */
    int minimum() {
        return minimum;
    }

    /**
     * Returns how many workers would be ready without the schedule.
     *
     * @param otherwise how many would be kept without it
     */
    int readyOtherwise(long nowNanos, int otherwise, long startNanos) {
        fewest.setWindow(startNanos);
        return -fewest.add(nowNanos, -otherwise);
    }

    /**
     * Counts what the schedule has cost and saved since the previous sample.
     *
     * @param ahead workers of this dispatcher that only the schedule keeps
     * @param servedOtherwise exchanges that could be in flight without the schedule; less than 0 if
     *     other dispatchers use more
     */
    void count(long nowNanos, Demand demand, double ahead, double servedOtherwise) {
        if (started && ahead > 0) {
            gbSeconds += ahead * function.launching().workerMegabytes() / 1024 * (nowNanos - sampledNanos) / SECOND;
            double served = demand.busy() - Math.max(0, servedOtherwise);
            requests +=
                    (demand.arrived() - arrived) * Math.max(0, served) / Math.max(1, demand.busy() + demand.pending());
        }
        started = true;
        sampledNanos = nowNanos;
        arrived = demand.arrived();
    }

    /** Returns what it has cost and saved, or {@code null} if there is no schedule. */
    @Nullable
    Scheduled snapshot() {
        return function.capacity().schedule().isEmpty()
                ? null
                : new Scheduled(minimum, gbSeconds, Math.round(requests));
    }
}
