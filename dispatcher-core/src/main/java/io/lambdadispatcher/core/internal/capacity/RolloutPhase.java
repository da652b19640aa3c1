package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.observe.RolloutSnapshot.State;
import java.util.List;

/**
 * What all dispatchers of a fleet, and a restarted dispatcher, must know of a {@link Rollout}.
 *
 * @param version the version that serves, or that served before the change
 * @param next the version that replaces it, or was refused; empty if there is none
 * @param percent the percentage of the workers that is watched in this step; 0 if none is
 * @param launcher the dispatcher of the fleet that launches the watched workers; empty if there is
 *     no fleet
 * @param reason why the change was stopped, in one line; empty if it was not. It ends with {@link
 *     #OF_BASE} in each state but WATCHING if the change is one to the version of the base
 */
record RolloutPhase(State state, String version, String next, int percent, String launcher, String reason) {
    private static final String SEPARATOR = "\t";

    private static final String OF_BASE = "the base has this version";

    /** @param ofBase whether the base has the version, and the launcher names another one */
    static RolloutPhase steady(String version, String abandoned, boolean ofBase) {
        return new RolloutPhase(State.STEADY, version, abandoned, 0, "", ofBase ? OF_BASE : "");
    }

    static RolloutPhase watching(String version, String next, int percent, String launcher) {
        return new RolloutPhase(State.WATCHING, version, next, percent, launcher, "");
    }

    /** @param ofBase whether the base has the next version */
    RolloutPhase rolling(boolean ofBase) {
        return new RolloutPhase(State.ROLLING, version, next, 0, "", ofBase ? OF_BASE : "");
    }

    RolloutPhase stopped(String why) {
        String line = why.replaceAll("\\s+", " ");
        return new RolloutPhase(State.STOPPED, version, next, 0, "", isOfBase() ? line + "; " + OF_BASE : line);
    }

    boolean is(State value) {
        return state == value;
    }

    /**
     * Returns whether workers get a version because the base has it, or would if the change had not
     * been stopped.
     */
    boolean isOfBase() {
        return reason.endsWith(OF_BASE);
    }

    /** Returns whether the change to this version was stopped. */
    boolean refuses(String refused) {
        return is(State.STOPPED) && next.equals(refused);
    }

    /** Returns the version of most workers that are launched. */
    String launchVersion() {
        return is(State.ROLLING) ? next : version;
    }

    /** Returns whether this is about the same change, in the same state and step. */
    boolean isSameStep(RolloutPhase other) {
        return state == other.state
                && percent == other.percent
                && version.equals(other.version)
                && next.equals(other.next);
    }

    /** Returns the phase as {@link #parse} reads it. */
    String text() {
        return String.join(
                SEPARATOR, List.of(state.name(), version, next, Integer.toString(percent), launcher, reason));
    }

    /** @throws IllegalArgumentException if the text is not that of a phase */
    static RolloutPhase parse(String text) {
        String[] parts = text.split(SEPARATOR, -1);
        if (parts.length != 6) {
            throw new IllegalArgumentException("rollout: \"" + text + "\", expected six parts");
        }
        return new RolloutPhase(
                State.valueOf(parts[0]), parts[1], parts[2], Integer.parseInt(parts[3]), parts[4], parts[5]);
    }
}
