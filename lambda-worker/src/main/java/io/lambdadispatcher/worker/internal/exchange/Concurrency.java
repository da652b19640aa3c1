package io.lambdadispatcher.worker.internal.exchange;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * The number of requests that a worker of this process can have in flight, for the connection pools
 * of its handlers. Any thread.
 */
public final class Concurrency {
    private static final AtomicInteger MOST = new AtomicInteger();

    private Concurrency() {}

    /**
     * Returns connections × streams of the largest worker so far; {@code otherwise} if there was
     * none.
     */
    public static int ofWorkers(int otherwise) {
        int most = MOST.get();
        return most == 0 ? otherwise : most;
    }

    /** Called by each worker before it connects. */
    public static void announce(int requests) {
        MOST.accumulateAndGet(requests, Math::max);
    }
}
