package io.lambdadispatcher.core.internal.launch;

import java.util.concurrent.TimeUnit;

/**
 * Keeps idle environments of a function warm, in which workers start faster. Confined to the
 * executor.
 */
final class WarmEnvironments {
    /**
     * The interval of warm-ups. AWS keeps idle environments for some minutes, but states no time.
     */
    private static final long INTERVAL_NANOS = TimeUnit.MINUTES.toNanos(4);

    private final GuardedLauncher launcher;
    private boolean ever;
    private long warmedUpNanos;

    WarmEnvironments(GuardedLauncher launcher) {
        this.launcher = launcher;
    }

    /**
     * Warms environments up, if it is time. Called at each evaluation.
     *
     * @param count how many; 0 = none at this time
     */
    void keep(long nowNanos, int count) {
        if (ever && nowNanos - warmedUpNanos < INTERVAL_NANOS) {
            return;
        }
        ever = true;
        warmedUpNanos = nowNanos;
        if (count > 0) {
            launcher.warmUp(count);
        }
    }

    /** Lets the next evaluation warm up, because there should be another number of environments. */
    void onOtherCount() {
        ever = false;
    }
}
