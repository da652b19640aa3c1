package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.observe.AnswerTally;
import org.jspecify.annotations.Nullable;

/**
 * Compares what the workers of a new version and those of the old one have done since both serve
 * side by side, so that a sick database counts for both. If the old version has hardly any request
 * in that time, what it did before counts instead. Confined to the controller's thread.
 */
final class VersionComparison {
    /** Failures are compared with those of at least so many requests. */
    private static final int FEWEST_COMPARED = 10;

    private AnswerTally fresh = new AnswerTally();
    private AnswerTally old = new AnswerTally();
    /** What the old version did before the time that {@link #old} counts. */
    private AnswerTally earlier = new AnswerTally();

    /**
     * Adds what one worker did in a second.
     *
     * @param isFresh whether it has the new version
     * @param readyNanos time since the worker was ready for the first time
     */
    void add(boolean isFresh, WorkerDemand second, long readyNanos) {
        AnswerTally tally = isFresh ? fresh : old;
        tally.add(second.completed(), second.failed());
        if (readyNanos >= AnswerTally.COLD_NANOS && second.answerTimes() != null) {
            tally.addTimes(second.answerTimes());
        }
    }

    /** Begins a step in which both versions are compared. */
    void begin() {
        rotate();
        fresh = new AnswerTally();
    }

    /** Ends a step. Nothing is known of another new version yet. */
    void end() {
        fresh = new AnswerTally();
    }

    /** Ends the change: the new version is the old one from now on. */
    void complete() {
        old = fresh;
        fresh = new AnswerTally();
    }

    /**
     * Begins to count the old version from zero. What it has done so far is what it did earlier, if
     * that is enough to compare with.
     */
    void rotate() {
        earlier = old.isConclusive() ? old : earlier;
        old = new AnswerTally();
    }

    /** Returns whether the new version has given enough answers to judge it. */
    boolean isConclusive() {
        return fresh.isConclusive();
    }

    /**
     * Returns why the new version is worse, in one line, or {@code null} if it is not, as far as
     * known.
     */
    @Nullable
    String problem(String freshVersion, String oldVersion) {
        String name = "version " + freshVersion;
        String oldName = "version " + oldVersion;
        String failure = fresh.failureProblem(name, old.answered() >= FEWEST_COMPARED ? old : earlier, oldName);
        return failure == null ? fresh.timeProblem(name, old.knowsTimes() ? old : earlier, oldName) : failure;
    }
}
