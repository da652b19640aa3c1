package io.lambdadispatcher.core.internal.inprocess;

import io.lambdadispatcher.core.spi.AsyncInProcessHandler;
import io.lambdadispatcher.core.spi.InProcessHandler;
import io.lambdadispatcher.wire.blocking.VirtualThreads;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;

/**
 * What serves a function in this process.
 *
 * @param calls creates the call of each request
 * @param concurrency maximum number of requests that it serves at a time
 */
public record InProcessBase(InProcessCall.Factory calls, int concurrency) {
    public static final int MOST_CONCURRENT = 10_000;

    /** @throws IllegalArgumentException if the concurrency is out of range */
    public InProcessBase {
        if (concurrency < 1 || concurrency > MOST_CONCURRENT) {
            throw new IllegalArgumentException("concurrency: " + concurrency + ", expected 1 to " + MOST_CONCURRENT);
        }
    }

    public static InProcessBase of(InProcessHandler handler, int concurrency) {
        Executor threads = Threads.ALL;
        return new InProcessBase(
                (stream, head, bodyless, timeoutMillis) ->
                        new ThreadCall(stream, handler, threads, head, bodyless, timeoutMillis),
                concurrency);
    }

    public static InProcessBase of(AsyncInProcessHandler handler, int concurrency) {
        return new InProcessBase(
                (stream, head, bodyless, timeoutMillis) -> new StageCall(stream, handler, head, bodyless), concurrency);
    }

    /** The threads of all handlers. The number of streams limits how many are in use. */
    private static final class Threads {
        static final Executor ALL = VirtualThreads.orElse(
                () -> Executors.newCachedThreadPool(new DefaultThreadFactory("in-process-handler", true)));
    }
}
