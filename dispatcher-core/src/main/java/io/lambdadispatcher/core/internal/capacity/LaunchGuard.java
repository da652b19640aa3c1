package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Says how many workers may be launched now. It holds back for four reasons, each told apart: so
 * many launches in any minute; after a failure, exponential back-off with full jitter (M. Brooker,
 * "Exponential Backoff And Jitter", AWS Architecture Blog) and, after several, a circuit that lets
 * through one probe at a time; after a throttle, a back-off of its own, for that is no fault; and
 * the switch.
 */
final class LaunchGuard {

    /** The circuit; {@link #onReady} and {@link #onFailed} move it. */
    enum Circuit {
        /** Launches go out. */
        CLOSED,
        /** None goes out until the hold is over. */
        OPEN,
        /** One is out; what becomes of it decides. */
        PROBING
    }

    private static final long MINUTE_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final long BASE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final int OPENS_AFTER = 5;

    /** An open circuit rests at least so long, jitter or not. */
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

    /** The kill switch. */
    void setStopped(boolean value) {
        stopped = value;
    }

    /** So many workers were launched at that time, by a dispatcher that has ended. */
    void restore(int count, long launchedNanos) {
        for (int i = 0; i < count; i++) {
            launches.addLast(launchedNanos);
        }
    }

    boolean isStopped() {
        return stopped;
    }

    /**
     * @param starting launched before and not ready yet
     * @return how many of {@code wanted} launches may go out now; those that do are told by {@link
     *     #onLaunched}
     */
    int permitted(long nowNanos, int wanted, int starting) {
        if (wanted <= 0 || stopped || isHeld(nowNanos) || circuit == Circuit.PROBING) {
            return 0;
        }
        int left = limits.launchesPerMinute() - launchesInLastMinute(nowNanos);
        return Math.max(0, Math.min(left, cautious(wanted, starting)));
    }

    /**
     * Until a launch has been seen to work again, each failure and each throttle halves what may be
     * out at once.
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
     * A launched worker has become ready: it works, and if it was launched after the last throttle,
     * there is room again.
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

    /** One has been ready for a while. */
    void onSettled() {
        failures = 0;
    }

    /** A probe has ended in a way that says nothing about the next one. */
    void onInconclusive() {
        if (circuit == Circuit.PROBING) {
            circuit = Circuit.OPEN;
        }
    }

    /**
     * @param launchedNanos when the worker was launched: of those that were launched before the
     *     last failure, one has been counted for all, for they had the same cause
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
     * @return why fewer launches go out than are wanted, in one line; {@code null} = nothing holds
     *     them back
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
