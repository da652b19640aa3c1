package io.lambdadispatcher.core.internal.capacity;

import org.jspecify.annotations.Nullable;

/**
 * The version that the base of a function states, and whether launched workers have it, too. Base
 * workers of two versions serve together during a deployment: the version that most of them have
 * counts. Confined to the controller's thread.
 */
final class BaseVersion {
    /**
     * For this time, a base that has left is expected back with the same version, and one that this
     * dispatcher has not seen yet is expected to dial in. Meanwhile, launched workers carry its
     * traffic, and must not change to another version.
     */
    private static final int RETURN_SECONDS = 600;

    private String stated = "";
    /** Seconds since the base stated a version, or since the start. */
    private int missing;

    /** The latest answer of the launcher; {@code null} = there is none. */
    private @Nullable NamedVersion answer;

    /** The version that most ready launched workers state; empty = none states one. */
    private String launched = "";

    void onSecond(WorkerLives workers) {
        launched = workers.mostStated(false, launched);
        String most = workers.mostStated(true, stated);
        missing = most.isEmpty() ? Math.min(RETURN_SECONDS, missing + 1) : 0;
        stated = most.isEmpty() && missing < RETURN_SECONDS ? stated : most;
    }

    /** Records the launcher's answer; {@code null} = another dispatcher asks it from now on. */
    void onNamed(@Nullable NamedVersion value) {
        answer = value;
    }

    /** Returns the version; empty = the base states none, or there is no base. */
    String stated() {
        return stated;
    }

    /** Returns the launcher's answer for this base; {@code null} = it has not answered yet. */
    @Nullable
    NamedVersion answer() {
        return answer != null && answer.base().equals(stated) ? answer : null;
    }

    /** Returns whether a base that is not known yet may still dial in and state a version. */
    boolean isAwaited() {
        return stated.isEmpty() && missing < RETURN_SECONDS;
    }

    /** Returns whether launched workers get this version because the base has the same code. */
    boolean leadsTo(String version) {
        NamedVersion known = answer();
        return known != null && known.matching().equals(version);
    }

    /**
     * Returns how the versions of the base and of launched workers differ, and why, in one line.
     * Returns {@code null} if they do not, if that is not known, or if a change will end it.
     *
     * @param phase the state of the change; {@code null} = the launcher chooses the version
     * @param followed whether the launcher is asked for versions
     */
    @Nullable
    String difference(@Nullable RolloutPhase phase, boolean followed) {
        String actual = phase == null ? launched : phase.launchVersion();
        if (stated.isEmpty() || missing > 0 || actual.isEmpty()) {
            return null;
        }
        if (!followed) {
            // Only the launcher could say which version an alias names.
            boolean alias = !isVersion(stated) && isVersion(actual);
            return unless(alias || stated.equals(actual), actual, "versions are not followed");
        }
        NamedVersion known = answer();
        if (known == null) {
            return null;
        }
        return known.matchesBase()
                ? unless(
                        phase == null || !phase.refuses(known.matching()),
                        actual,
                        "the change to version " + known.matching() + " has stopped")
                : unless(stated.equals(actual), actual, "no version that matches the base is published");
    }

    /** Returns whether this is a version of a Lambda function, which no alias can be called. */
    private static boolean isVersion(String name) {
        return name.equals("$LATEST") || name.chars().allMatch(Character::isDigit);
    }

    private @Nullable String unless(boolean same, String actual, String why) {
        return same
                ? null
                : "the base has version " + stated + ", and launched workers have version " + actual + ", because "
                        + why;
    }
}
