package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.capacity.Demand;
import io.lambdadispatcher.core.internal.exchange.ClientShares;
import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Ticker;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.LoggerFactory;

/**
 * The worker streams and the queued requests of one function. This class has what event loops
 * share, so any thread can use it. Everything else belongs to the shard of one event loop.
 */
public final class FunctionPool {
    /** Number of open requests that a client can always have, even if the function is busy. */
    private static final int MIN_SHARE = 8;

    private static final int MIN_QUEUE_SHARE = 16;

    private static final long MIN_STALE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final SeldomLog withoutWorker =
            new SeldomLog(LoggerFactory.getLogger(FunctionPool.class), Ticker.systemTicker());

    private final FunctionOptions options;
    private final List<PoolShard> shards;

    /**
     * Number of queued requests over all shards. It is the other half of the protocol of permits,
     * see {@link PoolShard}.
     */
    final AtomicInteger pending = new AtomicInteger();

    /** Number of requests over all shards that wait because their client has used up its share. */
    final AtomicInteger overShare = new AtomicInteger();

    final AtomicInteger streams = new AtomicInteger();

    /** Time since which the queue has not been empty while workers served. */
    private volatile long standsSinceNanos;

    private final long queueTimeoutNanos;
    private final long staleNanos;

    final ClientShares shares = new ClientShares();

    /**
     * The tag that was served last on any event loop. One event loop can overwrite the tag of
     * another, which moves it back by a few tags.
     */
    private volatile long virtualTime;

    /** Whether all shards look for slow readers. */
    private volatile boolean slowReadersWatched;

    /**
     * Whether a client can be marked as a slow reader, at most until {@link
     * #slowReadersUntilNanos}.
     */
    private volatile boolean slowReaders;

    private volatile long slowReadersUntilNanos;

    private volatile Runnable shortage = () -> {};

    public FunctionPool(FunctionOptions options, List<EventLoop> loops, DispatcherObserver observer) {
        this.options = options;
        this.queueTimeoutNanos = options.queueTimeout().toNanos();
        this.staleNanos = Math.max(MIN_STALE_NANOS, queueTimeoutNanos / 20);
        this.shards = loops.stream()
                .map(loop -> new PoolShard(this, loop, loops.size(), observer))
                .toList();
    }

    public FunctionOptions options() {
        return options;
    }

    /** Returns the shards, in the order of the event loops. */
    public List<PoolShard> shards() {
        return shards;
    }

    public int pending() {
        return pending.get();
    }

    /** Returns the number of open worker streams. */
    public int streams() {
        return streams.get();
    }

    /** Returns the number of worker streams that could take a request now. */
    public int free() {
        int sum = 0;
        for (PoolShard shard : shards) {
            sum += Math.max(0, shard.permits());
        }
        return sum;
    }

    /**
     * Returns how many requests of one client may be open whose bodies have not ended. Such a
     * request holds a worker stream for as long as its client likes. The limit is the dynamic
     * threshold of Choudhury and Hahne: four times the number of free streams. One client takes at
     * most four fifths of the streams, and some are left however many such clients there are. The
     * default headroom keeps the same share free, so open bodies of one client launch no worker.
     */
    int openBodiesLimit() {
        return (int) Math.max(MIN_SHARE, Math.min(Integer.MAX_VALUE, 4L * free()));
    }

    /**
     * Returns how many requests of one client may be queued. The rule is of the same kind: one
     * client fills at most half of the queue.
     */
    int queueShare() {
        return Math.max(MIN_QUEUE_SHARE, options.queueLimit() - queued());
    }

    /**
     * Logs that a request timed out in the queue. The launch supervisor logs why no worker is
     * launched.
     */
    void warnOfNoWorker() {
        withoutWorker.warn(
                "function {}: a request failed after {} ms in the queue, because no worker is connected",
                options.name(),
                options.queueTimeout().toMillis());
    }

    void onPending(long nowNanos) {
        if (pending.getAndIncrement() == 0) {
            standsSinceNanos = nowNanos;
        }
    }

    void onStreamOpened(long nowNanos) {
        if (streams.getAndIncrement() == 0) {
            standsSinceNanos = nowNanos;
        }
    }

    /**
     * Returns whether a request has been queued for too long to be served, even if its turn has
     * come. It is stale if the queue has not been empty for the queue timeout while workers served,
     * because such a queue will not be empty soon. In the order of arrival, each request would be
     * served just before its timeout. Without the stale requests, fresh requests are served in
     * time. A younger queue, for example after a cold start, has no stale requests. {@code
     * SheddingSimulationTest} compares this rule with CoDel and adaptive LIFO.
     */
    boolean isStale(long sinceNanos, long nowNanos) {
        return nowNanos - sinceNanos > staleNanos && nowNanos - standsSinceNanos >= queueTimeoutNanos;
    }

    /** Returns the part of {@link #MIN_SHARE} that belongs to one event loop. */
    int minShareOfLoop() {
        return Math.max(1, MIN_SHARE / shards.size());
    }

    /**
     * Marks a client that does not read its responses.
     *
     * @param untilNanos time at which the mark ends
     */
    void onSlowReader(long untilNanos) {
        slowReadersUntilNanos = untilNanos;
        slowReaders = true;
    }

    /** Returns whether any client may be marked as a slow reader. */
    boolean hasSlowReaders(long nowNanos) {
        if (slowReaders && slowReadersUntilNanos - nowNanos <= 0) {
            slowReaders = false;
        }
        return slowReaders;
    }

    /** Lets all event loops look for slow readers, because requests are queued. */
    void watchSlowReaders(PoolShard here) {
        if (slowReadersWatched) {
            return;
        }
        slowReadersWatched = true;
        for (PoolShard shard : shards) {
            if (shard == here) {
                shard.watchSlowReaders();
            } else {
                try {
                    shard.loop().execute(shard::watchSlowReaders);
                } catch (RejectedExecutionException e) {
                    // The embedding program has ended that event loop and everything on it.
                }
            }
        }
    }

    /** Notes that no request is queued, and that a shard has stopped looking for slow readers. */
    void onSlowReadersUnwatched() {
        slowReadersWatched = false;
    }

    /** Returns the number of all requests that wait, whatever they wait for. */
    int queued() {
        return pending.get() + overShare.get();
    }

    /**
     * Returns the number of clients with requests that wait, or that have waited and are in flight.
     */
    int clients() {
        return shares.size();
    }

    long virtualTime() {
        return virtualTime;
    }

    /** Notes that the request with this tag got a worker stream. */
    void onServed(long tag) {
        if (tag > virtualTime) {
            virtualTime = tag;
        }
    }

    /**
     * Sets a listener that is called when requests are queued. It is called often and on event
     * loops, so it must return quickly.
     */
    public void onShortage(Runnable listener) {
        shortage = listener;
    }

    void onShortage() {
        shortage.run();
    }

    /**
     * Asks all event loops. The result completes on the event loop that answers last.
     *
     * @param withWorkers whether the demand lists the workers
     */
    public CompletionStage<Demand> sample(boolean withWorkers) {
        return new Sampling(shards, withWorkers).start();
    }

    /** Limits the exchanges in flight of one worker, over all of its connections. */
    public void limit(String workerId, int exchanges) {
        int each = (exchanges + options.connectionsPerWorker() - 1) / options.connectionsPerWorker();
        shards.forEach(shard -> shard.loop().execute(() -> shard.limit(workerId, each)));
    }

    public PoolShard shard(int loopIndex) {
        return shards.get(loopIndex);
    }
}
