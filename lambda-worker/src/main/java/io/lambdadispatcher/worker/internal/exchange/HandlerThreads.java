package io.lambdadispatcher.worker.internal.exchange;

import io.lambdadispatcher.wire.blocking.VirtualThreads;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The threads of blocking handlers. The process has one pool, which is created when it is first
 * needed.
 */
public final class HandlerThreads {
    /**
     * Further requests wait. The worker's streams limit their number, because a request that is
     * cancelled leaves the queue with its stream.
     */
    private static final int MOST_PLATFORM_THREADS = 128;

    private static final int KEEP_SECONDS = 30;

    private HandlerThreads() {}

    /** Returns virtual threads if the JVM has them. */
    public static Executor shared() {
        return Holder.SHARED;
    }

    private static final class Holder {
        static final Executor SHARED = VirtualThreads.orElse(HandlerThreads::platformThreads);
    }

    public static ThreadPoolExecutor platformThreads() {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                MOST_PLATFORM_THREADS,
                MOST_PLATFORM_THREADS,
                KEEP_SECONDS,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                new DefaultThreadFactory("lambda-handler", true));
        pool.allowCoreThreadTimeOut(true);
        return pool;
    }
}
