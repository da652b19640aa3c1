package io.lambdadispatcher.wire.testkit;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.awaitility.pollinterval.IterativePollInterval;

/**
 * Waits for what other threads or processes do. Conditions are evaluated on the calling thread, so
 * they can use what belongs to it.
 *
 * <p>The default limit is for machines that are busy with other work. A test that judges how long
 * something takes measures it.
 */
public final class Await {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final Duration FIRST_INTERVAL = Duration.ofMillis(1);
    private static final Duration LONGEST_INTERVAL = Duration.ofMillis(50);

    private Await() {}

    /**
     * Returns when the condition is true. An exception in it ends the wait.
     *
     * @param what names the condition, for the message after 60 s
     */
    public static void until(String what, Callable<Boolean> condition) {
        until(what, LIMIT, condition);
    }

    /** As {@link #until(String, Callable)}, with a limit. */
    public static void until(String what, Duration limit, Callable<Boolean> condition) {
        poll(what).atMost(limit).until(condition);
    }

    /**
     * Fails if the condition becomes false within this time. It costs the whole time, so keep it
     * short.
     */
    public static void remains(String what, Duration time, Callable<Boolean> condition) {
        poll(what)
                .during(time)
                .atMost(time.plus(LIMIT))
                .failFast(what, () -> !condition.call())
                .until(() -> true);
    }

    /** Returns the value when it has not changed for this time. */
    public static long settled(String what, Duration time, LongSupplier value) {
        long[] last = {value.getAsLong(), System.nanoTime()};
        until(what, () -> {
            long now = value.getAsLong();
            if (now != last[0]) {
                last[0] = now;
                last[1] = System.nanoTime();
            }
            return System.nanoTime() - last[1] >= time.toNanos();
        });
        return last[0];
    }

    /** Returns when {@link System#nanoTime} has this value: for clients with a constant rate. */
    public static void nanoTime(long due) {
        for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    /** The first intervals are short, and later ones cost little. */
    private static ConditionFactory poll(String what) {
        return Awaitility.await(what)
                .pollInSameThread()
                .pollDelay(Duration.ZERO)
                .pollInterval(IterativePollInterval.iterative(Await::next, FIRST_INTERVAL));
    }

    private static Duration next(Duration interval) {
        Duration longer = interval.multipliedBy(2);
        return longer.compareTo(LONGEST_INTERVAL) < 0 ? longer : LONGEST_INTERVAL;
    }
}
