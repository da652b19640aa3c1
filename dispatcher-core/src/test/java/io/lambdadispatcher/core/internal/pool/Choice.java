package io.lambdadispatcher.core.internal.pool;

import org.jspecify.annotations.Nullable;

/**
 * The pool's choice among workers, for the capacity simulator, which is in another package.
 * Single-threaded.
 *
 * @param <C> the type of the candidates
 */
public final class Choice<C extends Choice.Candidate> {

    /** A candidate for the choice. */
    public abstract static class Candidate extends LeastOutstanding.Entry {}

    private final LeastOutstanding<C> candidates = new LeastOutstanding<>();

    /**
     * Returns the candidate with the fewest requests in flight, or {@code null} if there is none.
     * Does not remove it.
     */
    public @Nullable C least() {
        return candidates.least();
    }

    /** Adds a candidate that has {@code outstanding} requests in flight, or updates its count. */
    public void put(C candidate, int outstanding) {
        candidates.put(candidate, outstanding);
    }

    /** Removes a candidate that can take no request. Does nothing if it is absent. */
    public void remove(C candidate) {
        candidates.remove(candidate);
    }
}
