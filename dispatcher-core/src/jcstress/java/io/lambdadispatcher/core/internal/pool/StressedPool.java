package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.netty.channel.DefaultEventLoop;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.concurrent.ScheduledFuture;
import io.netty.util.concurrent.Ticker;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A pool of two event loops, each of which is played by one actor of a stress test. A worker is
 * connected to the loop {@code away}. Calls between the loops wait until {@link #settle}.
 */
final class StressedPool {
    private static final FunctionOptions OPTIONS = FunctionOptions.builder("f")
            .queue(10, Duration.ofHours(1))
            .requestTimeout(Duration.ofHours(1))
            .build();
    private static final Http2Headers HEAD = new DefaultHttp2Headers()
            .method("GET")
            .scheme("http")
            .authority("a")
            .path("/");

    /**
     * Whoever asks it for the time learns that another second has passed, so that every head has
     * waited long enough to be yielded to.
     */
    private static final class HastyTicker implements Ticker {
        private long seconds;

        @Override
        public long initialNanoTime() {
            return 0;
        }

        @Override
        public long nanoTime() {
            return TimeUnit.SECONDS.toNanos(++seconds);
        }

        @Override
        public void sleep(long delay, TimeUnit unit) {
            throw new UnsupportedOperationException("no thread of a stress test sleeps");
        }
    }

    /** Runs its tasks when it is told to, on the thread that tells it. */
    private static final class Loop extends DefaultEventLoop {
        /** {@code null} while the superclass is being made, which asks for the time. */
        private final @Nullable Ticker ticker = new HastyTicker();

        Loop() {
            super(neverStarted -> {});
        }

        @Override
        protected Queue<Runnable> newTaskQueue(int maxPendingTasks) {
            return new ConcurrentLinkedQueue<>();
        }

        @Override
        public boolean inEventLoop(Thread thread) {
            return true;
        }

        @Override
        public Ticker ticker() {
            return ticker == null ? Ticker.systemTicker() : ticker;
        }

        /** Slow readers are looked for as long as requests wait, which would go on forever here. */
        @Override
        public ScheduledFuture<?> schedule(Runnable command, long delay, TimeUnit unit) {
            boolean never = unit.toMillis(delay) >= SlowReaders.LOOK_MILLIS;
            return super.schedule(
                    command, never ? TimeUnit.DAYS.toNanos(36_500) : unit.toNanos(delay), TimeUnit.NANOSECONDS);
        }

        boolean runTasks() {
            return runAllTasks();
        }
    }

    /** A worker stream that counts the requests it is given. */
    private static final class Stream extends DiscardingSink implements Carrier {
        private final StressedPool pool;

        Stream(StressedPool pool) {
            this.pool = pool;
        }

        @Override
        public RequestSink carry(Http2Headers head, boolean end, int timeoutMillis, Attempt attempt) {
            pool.carried++;
            return this;
        }

        @Override
        public String workerId() {
            return "worker";
        }
    }

    private final Loop homeLoop = new Loop();
    private final Loop awayLoop = new Loop();
    private final FunctionPool pool = new FunctionPool(OPTIONS, List.of(homeLoop, awayLoop), DispatcherObserver.NONE);
    private final PooledConnection worker = new PooledConnection("worker");
    private final Stream busy = new Stream(this);
    final PoolShard home = pool.shard(0);
    final PoolShard away = pool.shard(1);
    private int carried;

    /** Begins with one busy worker stream and {@code free} ones that are free. */
    StressedPool(int free) {
        away.onMember(worker);
        away.setOpen(worker, true);
        away.onStreamOpened(worker, busy);
        away.tryAcquire();
        away.takeStream(null);
        for (int i = 0; i < free; i++) {
            away.onStreamOpened(worker, new Stream(this));
        }
    }

    /** On the loop of {@code shard}. */
    static Exchange request(PoolShard shard) {
        return shard.open(HEAD, true, new SilentClient());
    }

    /** On the loop {@code away}: the busy worker stream becomes free. */
    void freeStream() {
        away.onStreamFree(worker, busy);
    }

    /**
     * On the loop {@code away}, after the calls that it has been given so far: the worker takes no
     * more requests.
     */
    void closeWorker() {
        awayLoop.runTasks();
        away.setOpen(worker, false);
    }

    /**
     * When both actors have ended: runs all calls between the loops, and those that follow from
     * them.
     */
    void settle() {
        while (homeLoop.runTasks() | awayLoop.runTasks()) {}
    }

    int carried() {
        return carried;
    }

    int pending() {
        return pool.pending();
    }
}
