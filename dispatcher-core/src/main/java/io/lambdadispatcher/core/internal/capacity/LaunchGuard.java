package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Says how many workers may be launched now. Four rules limit launches:
 * <ul>
 *   <li>a maximum number of launches in any 60 seconds
 *   <li>exponential back-off with full jitter after a failure (M. Brooker, "Exponential Backoff And
 *       Jitter", AWS Architecture Blog), and after several failures a circuit breaker that allows
 *       one probe at a time
 *   <li>a separate back-off after throttling, which is not a failure
 *   <li>the kill switch
 * </ul>
 */
final class LaunchGuard {

    /** The states of the circuit breaker. {@link #onReady} and {@link #onFailed} change it. */
    enum Circuit {
        /** Launches are allowed. */
        CLOSED,
        /** No launch is allowed until the pause is over. */
        OPEN,
        /** One launch is in progress. Its result decides. */
        PROBING
    }

    private static final long MINUTE_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final long BASE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final int OPENS_AFTER = 5;

    /** Minimum pause of an open circuit breaker, whatever the jitter. */
    private static final long MIN_OPEN_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final LaunchLimits limits;
    private final RandomGenerator random;
    private final ArrayDeque<Long> launches = new ArrayDeque<>();
    private Circuit circuit = Circuit.CLOSED;
    private int failures;
    private int throttles;
    private long failedNanos;
    private long heldUntilNanos;
    private long throttledNanos;
    private long throttledUntilNanos;
    private boolean held;
    private boolean throttled;
    private boolean readySinceFailure = true;
    private boolean stopped;
    private String lastFailure = "";

    LaunchGuard(LaunchLimits limits, RandomGenerator random) {
        this.limits = limits;
        this.random = random;
    }

    /** Sets the kill switch. */
    void setStopped(boolean value) {
        stopped = value;
    }

    /** Adds workers that a previous dispatcher launched at that time. */
    void restore(int count, long launchedNanos) {
        for (int i = 0; i < count; i++) {
            launches.addLast(launchedNanos);
        }
    }

    boolean isStopped() {
        return stopped;
    }

    /**
     * @param starting number of workers that were launched before and are not ready
     * @return how many of the {@code wanted} launches are allowed now. {@link #onLaunched} must
     *     follow for each launch
     */
    int permitted(long nowNanos, int wanted, int starting) {
        if (wanted <= 0 || stopped || isHeld(nowNanos) || circuit == Circuit.PROBING) {
            return 0;
        }
        int left = limits.launchesPerMinute() - launchesInLastMinute(nowNanos);
        return Math.max(0, Math.min(left, cautious(wanted, starting)));
    }

    /**
     * Halves the number of launches in progress with each failure and each throttled launch, until
     * a launch works again.
     */
    private int cautious(int wanted, int starting) {
        if (circuit == Circuit.OPEN) {
            return 1;
        }
        int halvings = throttles + (readySinceFailure ? 0 : failures);
        return halvings == 0 ? wanted : Math.max(1, (wanted + starting) >> Math.min(halvings, 30)) - starting;
    }

    private boolean isHeld(long nowNanos) {
        held &= nowNanos - heldUntilNanos < 0;
        throttled &= nowNanos - throttledUntilNanos < 0;
        return held || throttled;
    }

    void onLaunched(long nowNanos) {
        launches.addLast(nowNanos);
        if (circuit == Circuit.OPEN) {
            circuit = Circuit.PROBING;
        }
    }

    /**
     * A launched worker is ready, so launches work. If it was launched after the last throttled
     * launch, there is room again.
     */
    void onReady(long launchedNanos) {
        circuit = Circuit.CLOSED;
        readySinceFailure = true;
        held = false;
        if (throttles > 0 && launchedNanos - throttledNanos >= 0) {
            throttles = 0;
            throttled = false;
        }
    }

    /** A worker has been ready for some time. */
    void onSettled() {
        failures = 0;
    }

    /** A probe ended in a way that says nothing about the next one. */
    void onInconclusive() {
        if (circuit == Circuit.PROBING) {
            circuit = Circuit.OPEN;
        }
    }

    /**
     * Counts a failed launch.
     *
     * @param launchedNanos time of the launch. Launches before the last counted failure have the
     *     same cause, so they do not count again
     */
    void onFailed(long nowNanos, long launchedNanos, Cause cause, String detail) {
        lastFailure = detail;
        if (cause == Cause.THROTTLED) {
            onThrottled(nowNanos);
            return;
        }
        boolean counted = failures > 0 && launchedNanos - failedNanos < 0;
        if (counted && circuit != Circuit.PROBING) {
            return;
        }
        failures = cause == Cause.REFUSED ? Math.max(OPENS_AFTER, failures + 1) : failures + 1;
        failedNanos = nowNanos;
        readySinceFailure = false;
        long pause = jitter(failures);
        if (failures >= OPENS_AFTER || circuit == Circuit.PROBING) {
            circuit = Circuit.OPEN;
            pause = Math.max(MIN_OPEN_NANOS, pause);
        }
        held = true;
        heldUntilNanos = nowNanos + pause;
    }

    private void onThrottled(long nowNanos) {
        if (!throttled) {
            throttles++;
        }
        throttled = true;
        throttledNanos = nowNanos;
        throttledUntilNanos = nowNanos + Math.max(BASE_NANOS / 5, jitter(throttles));
        onInconclusive();
    }

    private long jitter(int attempts) {
        long bound = Math.min(MAX_NANOS, BASE_NANOS << Math.min(attempts - 1, 20));
        return random.nextLong(bound + 1);
    }

    /**
     * @return why fewer workers are launched than are wanted, in one line; {@code null} if nothing
     *     blocks launches
     */
    @Nullable
    String obstacle(long nowNanos) {
        if (stopped) {
            return "launching is paused by the kill switch";
        }
        boolean waits = isHeld(nowNanos);
        if (circuit != Circuit.CLOSED) {
            return "launching is blocked by the open circuit breaker, last failure: " + lastFailure;
        }
        if (throttled) {
            return "launching is throttled, last failure: " + lastFailure;
        }
        if (waits || !readySinceFailure) {
            return "launching is delayed by the backoff, last failure: " + lastFailure;
        }
        return launchesInLastMinute(nowNanos) >= limits.launchesPerMinute()
                ? "launching is limited by launchesPerMinute: " + limits.launchesPerMinute()
                : null;
    }

    int launchesInLastMinute(long nowNanos) {
        while (!launches.isEmpty() && nowNanos - launches.peekFirst() >= MINUTE_NANOS) {
            launches.pollFirst();
        }
        return launches.size();
    }
}
