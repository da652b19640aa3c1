package io.lambdadispatcher.worker.internal.exchange;

import java.util.concurrent.atomic.LongAdder;

/**
 * Counts the requests that this process has served by itself, for all of its workers. The CPU time
 * of the process divided by this number is the CPU time of one request. Any thread.
 */
public final class ServedRequests {
    private static final LongAdder TOTAL = new LongAdder();

    private ServedRequests() {}

    /** Called when any exchange has ended. */
    public static void onServed() {
        TOTAL.increment();
    }

    /**
     * Called for each exchange that another process serves, whose CPU time is not known. The
     * exchange is not counted when it ends.
     */
    public static void onForwarded() {
        TOTAL.decrement();
    }

    /** Returns the total since the process started, less the forwarded exchanges in flight. */
    public static long total() {
        return TOTAL.sum();
    }
}
