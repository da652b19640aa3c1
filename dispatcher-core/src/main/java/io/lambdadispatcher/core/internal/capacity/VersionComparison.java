package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Compares what the workers of a new version and those of the old one have done since both serve
 * side by side, so that a sick database counts for both. If the old version has hardly any request
 * in that time, what it did before counts instead. Confined to the controller's thread.
 */
final class VersionComparison {
    /** A verdict about a step needs as many answers of the new version. So does a p99. */
    private static final int FEWEST_ANSWERS = 50;

    private static final double QUANTILE = 0.99;
    private static final int TIMES_SLOWER = 2;
    private static final long NANOS_SLOWER = TimeUnit.MILLISECONDS.toNanos(10);

    /** A JVM that has just begun to serve is slow, which says nothing about its version. */
    private static final long COLD_NANOS = TimeUnit.SECONDS.toNanos(30);

    /** Failures are compared with those of at least so many requests. */
    private static final int FEWEST_COMPARED = 10;

    private static final int FEWEST_EVENTS = 5;
    /** How much higher the rate of an event must be. */
    private static final double MARGIN = 0.01;
    /** A difference that chance seldom causes, although it is looked at again and again. */
    private static final double DEVIATIONS = 4;

    /** What the workers of one version did. */
    private static final class Tally {
        /** Times to the first byte of the answers that warm workers gave, except failed ones. */
        final ServiceTimes times = new ServiceTimes();

        double completed;
        double failed;

        boolean knowsTimes() {
            return times.count() >= FEWEST_ANSWERS;
        }

        double failedPercent() {
            return completed == 0 ? 0 : failed / completed * 100;
        }
    }

    private Tally fresh = new Tally();
    private Tally old = new Tally();
    /** What the old version did before the time that {@link #old} counts. */
    private Tally earlier = new Tally();

    /**
     * Adds what one worker did in a second.
     *
     * @param isFresh whether it has the new version
     * @param readyNanos time since the worker was ready for the first time
     */
    void add(boolean isFresh, WorkerDemand second, long readyNanos) {
        Tally tally = isFresh ? fresh : old;
        tally.completed += second.completed();
        tally.failed += second.failed();
        if (readyNanos >= COLD_NANOS && second.answerTimes() != null) {
            tally.times.addAll(second.answerTimes());
        }
    }

    /** Begins a step in which both versions are compared. */
    void begin() {
        rotate();
        fresh = new Tally();
    }

    /** Ends a step. Nothing is known of another new version yet. */
    void end() {
        fresh = new Tally();
    }

    /** Ends the change: the new version is the old one from now on. */
    void complete() {
        old = fresh;
        fresh = new Tally();
    }

    /**
     * Begins to count the old version from zero. What it has done so far is what it did earlier, if
     * that is enough to compare with.
     */
    void rotate() {
        earlier = old.completed >= FEWEST_ANSWERS ? old : earlier;
        old = new Tally();
    }

    /** Returns whether the new version has given enough answers to judge it. */
    boolean isConclusive() {
        return fresh.completed >= FEWEST_ANSWERS;
    }

    /**
     * Returns why the new version is worse, in one line, or {@code null} if it is not, as far as
     * known.
     */
    @Nullable
    String problem(String freshVersion, String oldVersion) {
        String failure = failure(freshVersion, oldVersion);
        return failure == null ? slowness(freshVersion, oldVersion) : failure;
    }

    private @Nullable String failure(String freshVersion, String oldVersion) {
        Tally than = old.completed >= FEWEST_COMPARED ? old : earlier;
        return isHigher(fresh.failed, fresh.completed, than.failed, than.completed)
                ? String.format(
                        Locale.ROOT,
                        "%.1f %% of the requests to version %s failed, %.1f %% to version %s",
                        fresh.failedPercent(),
                        freshVersion,
                        than.failedPercent(),
                        oldVersion)
                : null;
    }

    private @Nullable String slowness(String freshVersion, String oldVersion) {
        ServiceTimes than = old.knowsTimes() ? old.times : earlier.times;
        if (than.count() < FEWEST_ANSWERS) {
            return null;
        }
        long p99 = than.quantileNanos(QUANTILE);
        long slow = Math.max(TIMES_SLOWER * p99, p99 + NANOS_SLOWER);
        return isHigher(fresh.times.countFrom(slow), fresh.times.count(), than.countFrom(slow), than.count())
                ? String.format(
                        Locale.ROOT,
                        "the p99 of version %s is %.0f ms, that of version %s %.0f ms",
                        freshVersion,
                        fresh.times.quantileNanos(QUANTILE) / 1e6,
                        oldVersion,
                        p99 / 1e6)
                : null;
    }

    /**
     * Returns whether something bad happens clearly more often than before.
     *
     * <p>Compares the number of events with the one that would be expected if nothing had changed
     * (a test of two proportions), so that little traffic of either side causes no verdict.
     *
     * @param events how often it has happened
     * @param of out of how many
     * @param eventsBefore how often it happened before
     * @param ofBefore out of how many; 0 if nothing is known, which counts as never
     */
    private static boolean isHigher(double events, double of, double eventsBefore, double ofBefore) {
        if (events < FEWEST_EVENTS) {
            return false;
        }
        boolean known = ofBefore > 0;
        double rate = known ? (events + eventsBefore) / (of + ofBefore) : 0;
        double expected = of * rate;
        double variance = known ? expected * Math.max(0, 1 - rate) * ofBefore / (of + ofBefore) : 0;
        double rateBefore = known ? eventsBefore / ofBefore : 0;
        // One more, because rare events are spread more widely than this variance says.
        return events > expected + DEVIATIONS * Math.sqrt(variance + 1) && events >= (rateBefore + MARGIN) * of;
    }
}
