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
        return CanaryRule.isHigher(fresh.failed(), fresh.completed(), than.failed(), than.completed())
                ? String.format(
                        Locale.ROOT,
                        "%.1f %% of the requests to %s failed, %.1f %% to %s",
                        failedPercent(fresh),
                        newName,
                        failedPercent(than),
                        oldName)
                : null;
    }

    private static double failedPercent(Results of) {
        return of.completed() == 0 ? 0 : of.failed() / of.completed() * 100;
    }
}
