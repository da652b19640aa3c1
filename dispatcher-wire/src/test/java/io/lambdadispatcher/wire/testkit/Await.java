package io.lambdadispatcher.wire.testkit;

import java.time.Duration;
import java.util.concurrent.Callable;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;

/**
 * Waits for what other threads or processes do. Conditions are evaluated on the calling thread, so
 * they can use what belongs to it.
 *
 * <p>The default limit is for machines that are busy with other work. A test that judges how long
 * something takes measures it.
 */
public final class Await {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final Duration INTERVAL = Duration.ofMillis(5);

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

    /** Fails if the condition becomes false within this time. It costs the whole time: keep it short. */
    public static void remains(String what, Duration time, Callable<Boolean> condition) {
        poll(what)
                .during(time)
                .atMost(time.plus(LIMIT))
                .failFast(what, () -> !condition.call())
                .until(() -> true);
    }

    private static ConditionFactory poll(String what) {
        return Awaitility.await(what)
                .pollInSameThread()
                .pollDelay(Duration.ZERO)
                .pollInterval(INTERVAL);
    }
}
