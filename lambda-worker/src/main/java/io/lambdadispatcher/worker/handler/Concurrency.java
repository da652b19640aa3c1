package io.lambdadispatcher.worker.handler;

import java.util.concurrent.atomic.AtomicInteger;

/** How many requests a worker of this process may be given at once, for those who size pools by it. Any thread. */
public final class Concurrency {
    private static final AtomicInteger MOST = new AtomicInteger();

    private Concurrency() {}

    /** Of the largest worker so far: connections × streams; {@code otherwise} where there was none yet. */
    public static int ofWorkers(int otherwise) {
        int most = MOST.get();
        return most == 0 ? otherwise : most;
    }

    /** By each worker before it dials. */
    public static void announce(int requests) {
        MOST.accumulateAndGet(requests, Math::max);
    }
}
