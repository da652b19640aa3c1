package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Decides how many workers may be launched now. Four things block or limit launches:
 *
 * <ul>
 *   <li>The kill switch.
 *   <li>The maximum number of launches per minute.
 *   <li>Failed launches: each is followed by an exponential backoff with full jitter (M. Brooker,
 *       "Exponential Backoff And Jitter", AWS Architecture Blog). After five failures, or one with
 *       cause {@code REFUSED}, a circuit breaker permits only one probe at a time.
 *   <li>Throttled launches, and launches of a function that its platform still prepares: each is
 *       followed by a separate backoff, because neither is a failure.
 * </ul>
 */
final class LaunchGuard {

    /** The state of the circuit breaker. */
    enum Circuit {
        /** Launches are permitted. */
        CLOSED,
        /** No launch is permitted until the backoff ends; then one probe is. */
        OPEN,
        /** One probe is being launched, and its result decides the next state. */
        PROBING
    }

    private static final long MINUTE_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final long BASE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final int OPENS_AFTER = 5;

    /** Clients wait until the function is prepared, so the pause after its end must be short. */
    private static final long MAX_PREPARING_NANOS = TimeUnit.SECONDS.toNanos(4);

    /** The minimum backoff of an open circuit, whatever the jitter. */
    private static final long MIN_OPEN_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** The pause that clients are told while the kill switch is set. Nobody knows its end. */
    private static final long STOPPED_NANOS = TimeUnit.SECONDS.toNanos(60);

    private LaunchLimits limits;
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

    /** Whether the last throttle came from a platform that still prepares the function. */
    private boolean preparing;

    private boolean readySinceFailure = true;
    private boolean stopped;
    private String lastFailure = "";

    LaunchGuard(LaunchLimits limits, RandomGenerator random) {
        this.limits = limits;
        this.random = random;
    }

    void setLimits(LaunchLimits value) {
        limits = value;
    }

    /** Sets the kill switch; {@code true} = no launches. */
    void setStopped(boolean value) {
        stopped = value;
    }

    /** Adds the launches of a previous dispatcher, all at the given time. */
    void restore(int count, long launchedNanos) {
        for (int i = 0; i < count; i++) {
            launches.addLast(launchedNanos);
        }
    }

    boolean isStopped() {
        return stopped;
    }

    /** Returns whether the result of one launch decides about the next ones. */
    boolean isProbing() {
        return circuit == Circuit.PROBING;
    }

    /**
     * Returns how many of {@code wanted} workers may be launched now. The caller reports each
     * launch with {@link #onLaunched}.
     *
     * @param starting workers that are launched but not ready yet
     */
    int permitted(long nowNanos, int wanted, int starting) {
        if (wanted <= 0 || stopped || isHeld(nowNanos) || circuit == Circuit.PROBING) {
            return 0;
        }
        int left = limits.launchesPerMinute() - launchesInLastMinute(nowNanos);
        return Math.max(0, Math.min(left, cautious(wanted, starting)));
    }

    /**
     * Limits the workers that may start concurrently: each failure and each throttle halves their
     * number, until a launch succeeds again.
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
     * Records that a launched worker has become ready: launching works. If the worker was launched
     * after the last throttle, throttling has ended, too.
     */
    void onReady(long launchedNanos) {
        circuit = Circuit.CLOSED;
        readySinceFailure = true;
        held = false;
        if (throttles > 0 && launchedNanos - throttledNanos >= 0) {
            throttles = 0;
            throttled = false;
            preparing = false;
        }
    }

    /** Records that a launched worker has been ready for some time. Resets the failure count. */
    void onSettled() {
        failures = 0;
    }

    /**
     * Records that a launch has failed. Workers launched before the last counted failure are not
     * counted again, because they probably failed for the same reason.
     *
     * @param launchedNanos when the worker was launched
     */
    void onFailed(long nowNanos, long launchedNanos, Cause cause, String detail) {
        lastFailure = detail;
        preparing = cause == Cause.NOT_READY;
        if (preparing || cause == Cause.THROTTLED) {
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
        long pause = Math.max(BASE_NANOS / 5, jitter(throttles));
        throttledUntilNanos = nowNanos + (preparing ? Math.min(MAX_PREPARING_NANOS, pause) : pause);
        // Permits another probe, because the last one neither failed nor succeeded.
        circuit = circuit == Circuit.PROBING ? Circuit.OPEN : circuit;
    }

    long throttledNanos(long nowNanos) {
        return throttled ? Math.max(0, throttledUntilNanos - nowNanos) : 0;
    }

    private long jitter(int attempts) {
        long bound = Math.min(MAX_NANOS, BASE_NANOS << Math.min(attempts - 1, 20));
        return random.nextLong(bound + 1);
    }

    /**
     * Returns why and for how long no worker can be launched, or {@code null} if one can be, or can
     * be soon.
     */
    @Nullable
    LaunchPause pause(long nowNanos) {
        if (stopped) {
            return new LaunchPause("launches are paused by the kill switch", nowNanos + STOPPED_NANOS, true);
        }
        if (isHeld(nowNanos)) {
            if (preparing && !held) {
                return null;
            }
            boolean open = circuit == Circuit.OPEN;
            String reason = open
                    ? "launches are blocked by the open circuit breaker"
                    : throttled ? "launches are throttled" : "launches are delayed by the backoff";
            return new LaunchPause(reason, heldUntilNanos(), open);
        }
        return launchesInLastMinute(nowNanos) >= limits.launchesPerMinute()
                ? new LaunchPause(
                        "launches are limited by function.launches-per-minute",
                        launches.getFirst() + MINUTE_NANOS,
                        false)
                : null;
    }

    private long heldUntilNanos() {
        boolean throttleEndsLater = throttled && (!held || throttledUntilNanos - heldUntilNanos > 0);
        return throttleEndsLater ? throttledUntilNanos : heldUntilNanos;
    }

    /**
     * Returns why fewer workers are launched than wanted, in one line, or {@code null} if launches
     * are neither blocked nor limited.
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
        if (preparing) {
            return "the function is being prepared by its platform, last answer: " + lastFailure;
        }
        if (throttled) {
            return "launching is throttled, last failure: " + lastFailure;
        }
        if (waits || !readySinceFailure) {
            return "launching is delayed by the backoff, last failure: " + lastFailure;
        }
        return launchesInLastMinute(nowNanos) >= limits.launchesPerMinute()
                ? "launching is limited by function.launches-per-minute: " + limits.launchesPerMinute()
                : null;
    }

    int launchesInLastMinute(long nowNanos) {
        while (!launches.isEmpty() && nowNanos - launches.peekFirst() >= MINUTE_NANOS) {
            launches.pollFirst();
        }
        return launches.size();
    }
}
