package io.lambdadispatcher.worker.internal.exchange;

import java.util.concurrent.atomic.LongAdder;

/**
 * Counts the requests that this process has served by itself, for all of its workers. The CPU time
 * of the process divided by this number is the CPU time of one request. Any thread.
 */
public final class ServedRequests {
    private static final LongAdder TOTAL = new LongAdder();

    private ServedRequests() {}

    /** Called when an exchange has ended whose work this process has done. */
    public static void onServed() {
        TOTAL.increment();
    }

    /** Returns the total since the process started. */
    public static long total() {
        return TOTAL.sum();
    }
}
