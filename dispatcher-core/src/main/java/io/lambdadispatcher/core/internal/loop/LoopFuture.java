package io.lambdadispatcher.core.internal.loop;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.EventExecutorGroup;
import io.netty.util.concurrent.Ticker;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.LoggerFactory;

/**
 * A future that an event loop completes. To wait for it on an event loop of the same group could
 * block that event loop forever, so {@link #join} and {@link #get} throw an exception there. Stages
 * that are derived from it do the same. Any thread.
 */
public final class LoopFuture<T> extends CompletableFuture<T> {
    private static final SeldomLog log =
            new SeldomLog(LoggerFactory.getLogger(LoopFuture.class), Ticker.systemTicker());

    private final EventLoop loop;

    public LoopFuture(EventLoop loop) {
        this.loop = loop;
    }

    /** Returns a future that completes as {@code stage} does. */
    public static <T> LoopFuture<T> of(EventLoop loop, CompletionStage<T> stage) {
        LoopFuture<T> future = new LoopFuture<>(loop);
        stage.whenComplete((value, error) -> {
            if (error == null) {
                future.complete(value);
            } else {
                future.completeExceptionally(error);
            }
        });
        return future;
    }

    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
        return new LoopFuture<>(loop);
    }

    @Override
    public T join() {
        verifyMayWait("join");
        return super.join();
    }

    @Override
    public T get() throws InterruptedException, ExecutionException {
        verifyMayWait("get");
        return super.get();
    }

    @Override
    public T get(long timeout, TimeUnit unit) throws InterruptedException, ExecutionException, TimeoutException {
        verifyMayWait("get");
        return super.get(timeout, unit);
    }

    /** The exception may end in a stage that nobody looks at, so it is logged, too. */
    private void verifyMayWait(String call) {
        if (isDone()) {
            return;
        }
        EventExecutorGroup group = loop.parent();
        for (EventExecutor each : group == null ? loop : group) {
            if (each.inEventLoop()) {
                IllegalStateException wrong = new IllegalStateException(call + "() called on " + Thread.currentThread()
                        + ", an event loop of the dispatcher, which would"
                        + " wait for itself. Use thenCompose(), or Dispatcher.send() on another thread");
                log.warn("a callback waits on its event loop", wrong);
                throw wrong;
            }
        }
    }
}
