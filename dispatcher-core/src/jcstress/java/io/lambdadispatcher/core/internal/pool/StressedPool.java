package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.WorkerKind;
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
 * A pool of two event loops for stress tests. Each loop is played by one actor. A worker is
 * connected to the loop {@code away}. Calls between the loops wait until {@link #settle}.
 */
final class StressedPool {
    private static final FunctionOptions OPTIONS = FunctionOptions.builder("f")
            .queue(10, Duration.ofHours(1))
            .workerTimeout(Duration.ofHours(1))
            .build();
    private static final Http2Headers HEAD = new DefaultHttp2Headers()
            .method("GET")
            .scheme("http")
            .authority("a")
            .path("/");

    /**
     * A clock that advances by one second with each reading, so that every queue head has waited
     * long enough to take precedence.
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

    /** An event loop without a thread. The thread that {@link #play plays} it is in it. */
    private static final class Loop extends DefaultEventLoop {
        private volatile @Nullable Thread player;

        /** {@code null} while the superclass is being constructed, which reads the time. */
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
            return thread == player;
        }

        @Override
        public Ticker ticker() {
            return ticker == null ? Ticker.systemTicker() : ticker;
        }

        /**
         * Streams are observed for as long as requests are queued, which would never end here.
         */
        @Override
        public ScheduledFuture<?> schedule(Runnable command, long delay, TimeUnit unit) {
            boolean never = unit.toMillis(delay) >= Preemption.LOOK_MILLIS;
            return super.schedule(
                    command, never ? TimeUnit.DAYS.toNanos(36_500) : unit.toNanos(delay), TimeUnit.NANOSECONDS);
        }

        void play(Runnable action) {
            player = Thread.currentThread();
            action.run();
            player = null;
        }

        boolean runTasks() {
            boolean[] any = {false};
            play(() -> any[0] = runAllTasks());
            return any[0];
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
    private final PooledConnection worker;
    private final Stream busy = new Stream(this);
    final PoolShard home = pool.shard(0);
    final PoolShard away = pool.shard(1);
    private int carried;

    /** Makes a pool with one busy worker stream and {@code free} free ones. */
    StressedPool(int free) {
        this(free, false);
    }

    /** @param mixed whether the worker is a base worker, and there is a launched one, too */
    StressedPool(int free, boolean mixed) {
        worker = new PooledConnection("worker");
        worker.setKind(mixed ? WorkerKind.BASE : WorkerKind.LAUNCHED);
        onAway(() -> {
            away.workers().onMember(worker);
            away.workers().setOpen(worker, true);
            away.workers().onStreamOpened(worker, busy);
            away.free.tryAcquire();
            away.free.take(List.of());
            for (int i = 0; i < free; i++) {
                away.workers().onStreamOpened(worker, new Stream(this));
            }
        });
        if (mixed) {
            PooledConnection launched = new PooledConnection("launched");
            onHome(() -> {
                home.workers().onMember(launched);
                home.workers().setOpen(launched, true);
            });
            settle();
        }
    }

    /** Runs {@code action} on the calling thread, as the loop {@code home}. */
    void onHome(Runnable action) {
        homeLoop.play(action);
    }

    /** Runs {@code action} on the calling thread, as the loop {@code away}. */
    void onAway(Runnable action) {
        awayLoop.play(action);
    }

    /** Opens a request. Called on the loop of {@code shard}. */
    static Exchange request(PoolShard shard) {
        return shard.open(HEAD, true, new SilentClient());
    }

    /** Frees the busy worker stream. Called on the loop {@code away}. */
    void freeStream() {
        away.workers().onStreamFree(worker, busy);
    }

    /**
     * Runs the calls that the loop {@code away} has received so far. Then the worker stops taking
     * requests.
     */
    void closeWorker() {
        awayLoop.runTasks();
        onAway(() -> away.workers().setOpen(worker, false));
    }

    /**
     * Runs all calls between the loops, and the calls that follow from them. Called after both
     * actors have ended.
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
