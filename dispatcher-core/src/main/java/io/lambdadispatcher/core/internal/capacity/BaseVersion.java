package io.lambdadispatcher.core.internal.capacity;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The version that the base of a function states, and whether launched workers have it, too. Base
 * workers of two versions serve together during a deployment: the version that most of them have
 * counts. Confined to the controller's thread.
 */
final class BaseVersion {
    /**
     * For this time, a base that has left is expected back with the same version. Meanwhile,
     * launched workers carry its traffic, and must not change to another version.
     */
    private static final long RETURN_NANOS = TimeUnit.MINUTES.toNanos(10);

    private String stated = "";
    private long statedNanos;
    private boolean connected;
    /** The latest answer of the launcher; {@code null} = there is none. */
    private @Nullable NamedVersion answer;

    /** The version that a launched worker stated last; empty = none has stated one. */
    private String launched = "";

    void onSecond(long nowNanos, WorkerLives workers) {
        String most = workers.versionOfBase(stated);
        connected = !most.isEmpty();
        if (connected) {
            stated = most;
            statedNanos = nowNanos;
        } else if (nowNanos - statedNanos >= RETURN_NANOS) {
            stated = "";
        }
    }

    /** Records the launcher's answer; {@code null} = another dispatcher asks it from now on. */
    void onNamed(@Nullable NamedVersion value) {
        answer = value;
    }

    /** Records the version of a launched worker. */
    void onLaunched(String version) {
        launched = version.isEmpty() ? launched : version;
    }

    /** Returns the version; empty = the base states none, or there is no base. */
    String stated() {
        return stated;
    }

    /** Returns whether launched workers get this version because the base has the same code. */
    boolean leadsTo(String version) {
        return answer != null && answer.matchesBase() && answer.version().equals(version);
    }

    /**
     * Returns how the versions of the base and of launched workers differ, and why, in one line.
     * Returns {@code null} if they do not, or if that is not known.
     *
     * @param launching the version that workers are launched with; empty = the launcher chooses
     * @param followed whether the launcher is asked for versions
     */
    @Nullable
    String difference(String launching, boolean followed) {
        String actual = launching.isEmpty() ? launched : launching;
        if (!connected || actual.isEmpty()) {
            return null;
        }
        if (!followed) {
            return stated.equals(actual) ? null : sentence(actual, "versions are not followed");
        }
        if (answer == null || !answer.base().equals(stated)) {
            return null;
        }
        if (answer.matchesBase()) {
            boolean same = answer.version().equals(actual);
            return same ? null : sentence(actual, "the change to version " + answer.version() + " has stopped");
        }
        return stated.equals(actual) ? null : sentence(actual, "no version that matches the base is published");
    }

    private String sentence(String actual, String why) {
        return "the base has version " + stated + ", and launched workers have version " + actual + ", because " + why;
    }
}
