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
 * One function's worker streams and waiting requests. Any thread: here is only what event loops
 * share, everything else belongs to the shard of one event loop.
 */
public final class FunctionPool {
    /** What a client may have however busy the function is. */
    private static final int MIN_SHARE = 8;

    private static final int MIN_QUEUE_SHARE = 16;

    private static final long MIN_STALE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final SeldomLog withoutWorker =
            new SeldomLog(LoggerFactory.getLogger(FunctionPool.class), Ticker.systemTicker());

    private final FunctionOptions options;
    private final List<PoolShard> shards;

    /**
     * Requests that wait, over all shards: the other half of the permits' protocol, see {@link
     * PoolShard}.
     */
    final AtomicInteger pending = new AtomicInteger();

    /** Requests that wait because their client has its share, over all shards. */
    final AtomicInteger overShare = new AtomicInteger();

    final AtomicInteger streams = new AtomicInteger();

    /** Since when requests have waited without a pause and workers have served. */
    private volatile long standsSinceNanos;

    private final long queueTimeoutNanos;
    private final long staleNanos;

    final ClientShares shares = new ClientShares();

    /**
     * The tag that was served last on any event loop. Loops may overwrite each other's, which moves
     * it back by a few tags.
     */
    private volatile long virtualTime;

    /** All shards look for slow readers. */
    private volatile boolean slowReadersWatched;

    /** A client may be a slow reader until {@link #slowReadersUntilNanos}. */
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

    /** In the order of the event loops. */
    public List<PoolShard> shards() {
        return shards;
    }

    public int pending() {
        return pending.get();
    }

    /** Worker streams that are open, busy or not, ready or not. */
    public int streams() {
        return streams.get();
    }

    /** Worker streams that could take a request now. */
    public int free() {
        int sum = 0;
        for (PoolShard shard : shards) {
            sum += Math.max(0, shard.permits());
        }
        return sum;
    }

    /**
     * Returns how many requests of one client may be open whose bodies have not ended. They hold
     * worker streams at the client's mercy. This is the dynamic threshold of Choudhury and Hahne:
     * four times what is free, so that one client takes at most four fifths of the streams, and
     * leaves some however many such clients there are. It is also what the default head room keeps
     * free, so that no worker is launched because of one client's open bodies.
     */
    int openBodiesLimit() {
        return (int) Math.max(MIN_SHARE, Math.min(Integer.MAX_VALUE, 4L * free()));
    }

    /**
     * Returns how many requests of one client may be queued, by the same kind of rule: one client
     * fills at most half of the queue.
     */
    int queueShare() {
        return Math.max(MIN_QUEUE_SHARE, options.queueLimit() - queued());
    }

    /**
     * Logs that a request has waited in vain. The reason why no worker is launched is logged by the
     * launch supervisor.
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
     * Says whether a request has waited for too long to be served although its turn has come. That
     * is so once the queue has not been empty for the queue timeout while workers served: then it
     * will not empty soon, and whoever is served in the order of arrival has waited nearly until
     * its timeout. Shedding those that are stale serves fresh requests in time instead. A queue
     * that is younger, as after a cold start, is left alone. {@code SheddingSimulationTest}
     * compares this with CoDel and adaptive LIFO.
     */
    boolean isStale(long sinceNanos, long nowNanos) {
        return nowNanos - sinceNanos > staleNanos && nowNanos - standsSinceNanos >= queueTimeoutNanos;
    }

    /** Returns {@link #MIN_SHARE} of one event loop. */
    int minShareOfLoop() {
        return Math.max(1, MIN_SHARE / shards.size());
    }

    /** A client does not take its responses. @param untilNanos when that is forgotten */
    void onSlowReader(long untilNanos) {
        slowReadersUntilNanos = untilNanos;
        slowReaders = true;
    }

    /** Returns whether some client may be a slow reader. */
    boolean hasSlowReaders(long nowNanos) {
        if (slowReaders && slowReadersUntilNanos - nowNanos <= 0) {
            slowReaders = false;
        }
        return slowReaders;
    }

    /** Requests wait: slow readers are looked for on all event loops. */
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
                    // The embedding program has ended that event loop, and what was in flight on
                    // it.
                }
            }
        }
    }

    /** No request waits, and a shard does not look any longer. */
    void onSlowReadersUnwatched() {
        slowReadersWatched = false;
    }

    /** All requests that wait, for whatever reason. */
    int queued() {
        return pending.get() + overShare.get();
    }

    /** Clients of which requests wait, or have waited and are in flight. */
    int clients() {
        return shares.size();
    }

    long virtualTime() {
        return virtualTime;
    }

    /** A request with this tag has been given a worker stream. */
    void onServed(long tag) {
        if (tag > virtualTime) {
            virtualTime = tag;
        }
    }

    /** Is told, on event loops and often, that requests wait. It must return quickly. */
    public void onShortage(Runnable listener) {
        shortage = listener;
    }

    void onShortage() {
        shortage.run();
    }

    /**
     * Asks all event loops; completes on the last one that answers.
     *
     * @param withWorkers else the demand names none
     */
    public CompletionStage<Demand> sample(boolean withWorkers) {
        return new Sampling(shards, withWorkers).start();
    }

    /** A worker takes so many exchanges at once from now on, shared by its connections. */
    public void limit(String workerId, int exchanges) {
        int each = (exchanges + options.connectionsPerWorker() - 1) / options.connectionsPerWorker();
        shards.forEach(shard -> shard.loop().execute(() -> shard.limit(workerId, each)));
    }

    public PoolShard shard(int loopIndex) {
        return shards.get(loopIndex);
    }
}
