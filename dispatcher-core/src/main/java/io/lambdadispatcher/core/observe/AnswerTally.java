package io.lambdadispatcher.core.observe;

import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Counts how requests were answered, and compares this with the answers that others gave at the
 * same time: whether clearly more requests failed, or whether the p99 is clearly higher. Changes of
 * a function's version are judged by it. A program that moves requests from one function to another
 * can use it, too. Not thread-safe.
 *
 * <pre>{@code
 * AnswerTally old = new AnswerTally();
 * AnswerTally next = new AnswerTally();
 * old.add(1_000, 2);
 * next.add(100, 50);
 * String problem = next.isConclusive() ? next.problem("shop-next", old, "shop") : null;
 * }</pre>
 */
public final class AnswerTally {
    /**
     * A JVM that has just begun to serve is slow, which says nothing about its code. Do not count
     * the times of a worker in the first nanoseconds after it became ready.
     */
    public static final long COLD_NANOS = TimeUnit.SECONDS.toNanos(30);

    /** A verdict needs as many answers. So does a p99. */
    private static final int FEWEST_ANSWERS = 50;

    private static final double QUANTILE = 0.99;
    private static final int TIMES_SLOWER = 2;
    private static final long NANOS_SLOWER = TimeUnit.MILLISECONDS.toNanos(10);

    private static final int FEWEST_EVENTS = 5;
    /** How much higher the rate of an event must be. */
    private static final double MARGIN = 0.01;
    /** A difference that chance seldom causes, although it is looked at again and again. */
    private static final double DEVIATIONS = 4;

    private final ServiceTimes times = new ServiceTimes();
    private long answered;
    private long failed;

    /** Creates a tally that has counted nothing. */
    public AnswerTally() {}

    /**
     * Counts requests that have ended.
     *
     * @param requests how many, including those that failed
     * @param failures how many of them had no response, an incomplete one, or a status of 500 or
     *     above
     */
    public void add(long requests, long failures) {
        answered += requests;
        failed += failures;
    }

    /**
     * Adds the times to the first byte of answers, except failed ones and those of {@link
     * #COLD_NANOS}.
     */
    public void addTimes(ServiceTimes more) {
        times.addAll(more);
    }

    /** Adds one time to the first byte, as {@link #addTimes} does. */
    public void addTime(long nanos) {
        times.record(nanos);
    }

    /** Adds all that another tally has counted. */
    public void addAll(AnswerTally other) {
        add(other.answered, other.failed);
        addTimes(other.times);
    }

    /** Returns how many requests have ended. */
    public long answered() {
        return answered;
    }

    /** Returns whether there were enough requests to judge them. */
    public boolean isConclusive() {
        return answered >= FEWEST_ANSWERS;
    }

    /** Returns whether enough times are known for a p99. */
    public boolean knowsTimes() {
        return times.count() >= FEWEST_ANSWERS;
    }

    /**
     * Returns why these answers are worse than others, in one line, or {@code null} if they are
     * not, as far as known.
     *
     * @param name whose answers these are, such as {@code function shop}
     * @param other the others. Without any of their answers, failures are compared with none
     * @param otherName whose answers the others are
     */
    public @Nullable String problem(String name, AnswerTally other, String otherName) {
        String failure = failureProblem(name, other, otherName);
        return failure == null ? timeProblem(name, other, otherName) : failure;
    }

    /** Returns what {@link #problem} does, but compares only failures. */
    public @Nullable String failureProblem(String name, AnswerTally other, String otherName) {
        return isHigher(failed, answered, other.failed, other.answered)
                ? String.format(
                        Locale.ROOT,
                        "%.1f %% of the requests to %s failed, %.1f %% to %s",
                        failedPercent(),
                        name,
                        other.failedPercent(),
                        otherName)
                : null;
    }

    /** Returns what {@link #problem} does, but compares only times. */
    public @Nullable String timeProblem(String name, AnswerTally other, String otherName) {
        if (!other.knowsTimes()) {
            return null;
        }
        long p99 = other.times.quantileNanos(QUANTILE);
        long slow = Math.max(TIMES_SLOWER * p99, p99 + NANOS_SLOWER);
        return isHigher(times.countFrom(slow), times.count(), other.times.countFrom(slow), other.times.count())
                ? String.format(
                        Locale.ROOT,
                        "the p99 of %s is %.0f ms, that of %s %.0f ms",
                        name,
                        times.quantileNanos(QUANTILE) / 1e6,
                        otherName,
                        p99 / 1e6)
                : null;
    }

    private double failedPercent() {
        return answered == 0 ? 0 : 100.0 * failed / answered;
    }

    /**
     * Returns whether something bad happens clearly more often than elsewhere.
     *
     * <p>Compares the number of events with the one that would be expected if there were no
     * difference (a test of two proportions), so that little traffic of either side causes no
     * verdict.
     *
     * @param events how often it has happened
     * @param of out of how many
     * @param eventsOther how often it has happened elsewhere
     * @param ofOther out of how many; 0 if nothing is known, which counts as never
     */
    private static boolean isHigher(double events, double of, double eventsOther, double ofOther) {
        if (events < FEWEST_EVENTS) {
            return false;
        }
        boolean known = ofOther > 0;
        double rate = known ? (events + eventsOther) / (of + ofOther) : 0;
        double expected = of * rate;
        double variance = known ? expected * Math.max(0, 1 - rate) * ofOther / (of + ofOther) : 0;
        double rateOther = known ? eventsOther / ofOther : 0;
        // One more, because rare events are spread more widely than this variance says.
        return events > expected + DEVIATIONS * Math.sqrt(variance + 1) && events >= (rateOther + MARGIN) * of;
    }
}
