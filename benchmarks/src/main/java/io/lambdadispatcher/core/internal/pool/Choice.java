package io.lambdadispatcher.core.internal.pool;

import org.jspecify.annotations.NullMarked;
import org.jspecify.annotations.Nullable;

/**
 * The pool's choice among workers for the simulator: lives in its package because the choice is nobody else's business. One thread.
 *
 * @param <C> what is chosen among
 */
@NullMarked
public final class Choice<C extends Choice.Candidate> {

    /** Something that can be chosen. */
    public abstract static class Candidate extends LeastOutstanding.Entry {}

    private final LeastOutstanding<C> candidates = new LeastOutstanding<>();

    /** The one with the fewest exchanges under way, or {@code null} if none can take one more. It stays where it is. */
    public @Nullable C least() {
        return candidates.least();
    }

    /** It can take one more, and has so many under way. */
    public void put(C candidate, int outstanding) {
        candidates.put(candidate, outstanding);
    }

    /** It can take none. Harmless if it is not in. */
    public void remove(C candidate) {
        candidates.remove(candidate);
    }
}
