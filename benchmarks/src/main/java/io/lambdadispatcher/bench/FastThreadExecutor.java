package io.lambdadispatcher.bench;

import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Runs benchmarks on threads of the kind that Netty's event loops use. On other threads, Netty's
 * allocator and recycler take slower paths.
 */
public final class FastThreadExecutor extends ThreadPoolExecutor {
    /** JMH calls this constructor by reflection. */
    public FastThreadExecutor(int maxThreads, String prefix) {
        super(
                maxThreads,
                maxThreads,
                0,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                new DefaultThreadFactory(prefix));
    }
}
