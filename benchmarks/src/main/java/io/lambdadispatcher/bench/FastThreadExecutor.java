package io.lambdadispatcher.bench;

import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * JMH's threads as Netty's event loops have them: on others the allocator and the recycler take
 * slower paths.
 */
public final class FastThreadExecutor extends ThreadPoolExecutor {
    /** Called by JMH by reflection. */
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
