package io.lambdadispatcher.core.observe;

/**
 * Which version the workers of a function have, and how far the change to another version is.
 *
 * @param state the state of the change
 * @param version the version that serves, or that served before the change
 * @param newVersion the version that replaces it, or was refused; empty if there is none
 * @param percent the share of the workers that has the new version while it is watched, relative to
 *     those that the traffic needs; 0 in other states
 * @param newReady ready workers of the new version that are connected to this dispatcher
 * @param reason why the change was stopped, in one line; empty if it was not
 */
public record RolloutSnapshot(
        State state, String version, String newVersion, int percent, int newReady, String reason) {

    /** The state of a change to another version. */
    public enum State {
        /** All workers have the same version, or the last ones of an abandoned version drain. */
        STEADY,
        /** A few workers of the new version are watched. The others keep the old version. */
        WATCHING,
        /** Workers of the new version replace the others. */
        ROLLING,
        /**
         * The new version has failed, or an operator has stopped the change. Workers are launched
         * with the old version only.
         */
        STOPPED
    }
}
