package io.lambdadispatcher.core.internal.fleet;

import org.jspecify.annotations.Nullable;

/**
 * The kill switch of one function, as this dispatcher wants it and as the {@link Budget} of the
 * fleet has it. What an operator has set here is written into each new budget until one that was
 * read later says the same. From then on, another dispatcher may switch it back. Confined to the
 * executor of the {@link FleetMember}.
 */
final class KillSwitch {
    /** {@code null} = what the budget says. */
    private @Nullable Boolean wanted;

    private long wantedSinceNanos;

    /** What {@link #onBudget} has found last. */
    private boolean launching = true;

    /** Sets the switch; {@code false} = no launches. */
    void set(boolean value, long nowNanos) {
        wanted = value;
        wantedSinceNanos = nowNanos;
    }

    /** Returns whether launches are permitted, as far as this dispatcher knows. */
    boolean isLaunching() {
        return launching;
    }

    /**
     * Records a budget that is new here.
     *
     * @return whether {@link #isLaunching} has changed
     */
    boolean onBudget(Budget seen) {
        forgetIfSeen(seen);
        boolean changed = wanted == null && launching != seen.isLaunching();
        launching = changed ? seen.isLaunching() : launching;
        return changed;
    }

    /**
     * Records that the budget was read, even if it is the same as before. Called while nothing is
     * being written.
     *
     * @param readNanos when the read began
     */
    void onRead(Budget seen, long readNanos) {
        if (readNanos - wantedSinceNanos >= 0) {
            forgetIfSeen(seen);
        }
    }

    private void forgetIfSeen(Budget seen) {
        if (wanted != null && wanted == seen.isLaunching()) {
            wanted = null;
        }
    }

    /** Changes a copy of the budget. Returns whether there is a difference. */
    boolean change(Budget next) {
        if (wanted == null || next.isLaunching() == wanted) {
            return false;
        }
        next.setLaunching(wanted);
        return true;
    }
}
