package io.lambdadispatcher.core.internal.policy;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What something new and what it replaces have done since both are watched side by side, so that a
 * sick database counts for both.
 *
 * @param earlier the old side before that. Counts if the old side has hardly any request now
 */
public record Comparison<R extends Comparison.Results>(R fresh, R old, R earlier) {
    /** Why a change is stopped that an operator stops. */
    public static final String BY_OPERATOR = "an operator has stopped it";

    /** Nothing is compared with fewer requests. */
    public static final int FEWEST_COMPARED = 10;

    private static final int FEWEST_EVENTS = 5;
    /** How much larger the share must be. */
    private static final double MARGIN = 0.01;
    /** A difference that chance seldom causes, although it is looked at again and again. */
    private static final double DEVIATIONS = 4;

    /** What became of the requests of one side. */
    public interface Results {
        double completed();

        double failed();
    }

    /** Returns what the new side is compared with. It is empty if nothing is known. */
    public R baseline() {
        return old.completed() >= FEWEST_COMPARED ? old : earlier;
    }

    /** Returns why the new side fails too often, or {@code null} if it does not. */
    public @Nullable String failure(String newName, String oldName) {
        R than = baseline();
        return isHigher(fresh.failed(), fresh.completed(), than.failed(), than.completed())
                ? String.format(
                        Locale.ROOT,
                        "%.1f %% of the requests to %s failed, %.1f %% to %s",
                        failedPercent(fresh),
                        newName,
                        failedPercent(than),
                        oldName)
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
    public static boolean isHigher(double events, double of, double eventsBefore, double ofBefore) {
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

    private static double failedPercent(Results of) {
        return of.completed() == 0 ? 0 : of.failed() / of.completed() * 100;
    }
}
