package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.capacity.Demand;
import io.lambdadispatcher.core.internal.capacity.LaunchPause;
import io.lambdadispatcher.core.internal.exchange.ClientShare;
import io.lambdadispatcher.core.internal.exchange.ClientShares;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestAdmission;
import io.lambdadispatcher.core.internal.loop.Loops;
import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.internal.policy.PriorityShares;
import io.lambdadispatcher.core.internal.policy.SlowStart;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Ticker;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The state of one function's worker streams and queued requests that event loops share. All other
 * state belongs to the {@link PoolShard} of one event loop.
 *
 * <p><i>Threading:</i> any thread.
 */
public final class FunctionPool {
    /** A client's share while no worker stream is open. A third of none would be no share. */
    private static final int SHARE_OF_NONE = 8;

    private static final int MIN_QUEUE_SHARE = 16;

    private static final long SECOND_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final Logger log = LoggerFactory.getLogger(FunctionPool.class);

    private final SeldomLog withoutWorker = new SeldomLog(log, Ticker.systemTicker());

    private volatile FunctionOptions options;
    private final List<PoolShard> shards;

    /**
     * Queued requests of all shards. {@link WakeUps} describes how this count and the permits
     * prevent lost wake-ups.
     */
    final AtomicInteger pending = new AtomicInteger();

    /** Requests of all shards that wait for something else than any stream: {@link SetAside}. */
    final AtomicInteger setAside = new AtomicInteger();

    final AtomicInteger streams = new AtomicInteger();

    /** The current period in which requests are queued and worker streams exist. */
    final StandingQueue standing;

    final ClientShares shares = new ClientShares();
    final RequestAdmission admission;
    final OpenWorkers openWorkers = new OpenWorkers(this);

    final PriorityShares priorities = new PriorityShares();

    /**
     * The highest tag served on any event loop. Event loops may overwrite each other's values,
     * which moves it back by a few tags.
     */
    private volatile long virtualTime;

    /** Whether the shards look for clients that hold up worker streams. */
    private volatile boolean observed;

    /** Whether some client has lost worker streams, until {@link #preemptedUntilNanos}. */
    private volatile boolean preempted;

    private volatile long preemptedUntilNanos;

    /** Whether other dispatchers use the workers, too. */
    private volatile boolean shared;

    /**
     * Processor time of a request on warm workers, in microseconds; 0 = not known. Event loops may
     * overwrite each other's values.
     */
    private volatile int warmCpuMicros;

    private volatile Runnable shortage = () -> {};

    /** {@code null} if no workers are launched here. */
    private volatile @Nullable Supplier<CapacitySnapshot> launching;

    /** {@code null} = requests may be served soon. */
    private volatile @Nullable LaunchPause launchPause;

    private volatile boolean overflows;

    public FunctionPool(FunctionOptions options, List<EventLoop> loops, DispatcherObserver observer) {
        this.options = options;
        this.admission = new RequestAdmission(options.name());
        this.standing = new StandingQueue(options.queueTimeout().toNanos());
        this.shards =
                loops.stream().map(loop -> new PoolShard(this, loop, observer)).toList();
    }

    public FunctionOptions options() {
        return options;
    }

    /** Replaces the options. {@link PoolShard#setOptions} replaces the timeouts of each shard. */
    public void setOptions(FunctionOptions value) {
        options = value;
        standing.setTimeout(value.queueTimeout().toNanos());
    }

    boolean isShared() {
        return shared;
    }

    /**
     * Says that other dispatchers may use the workers, so that these may be busy. It holds to the
     * end: a worker can know another dispatcher before this one does, and leaves it later.
     */
    public void setShared() {
        shared = true;
    }

    /**
     * Returns whether the exchange is a WebSocket that the handler in process does not serve, but
     * another worker may, which is open or can be launched, if perhaps not now.
     */
    boolean isForOtherWorkers(Exchange exchange) {
        return openWorkers.inProcess() != null
                && exchange.asksForTunnel()
                && (launching != null && options.capacity().maxWorkers() > 0 || openWorkers.isAnyNotInProcess());
    }

    public OpenWorkers openWorkers() {
        return openWorkers;
    }

    /** Returns whether workers can be launched here, as far as is known. */
    boolean launches() {
        Supplier<CapacitySnapshot> supplier = launching;
        return supplier != null && supplier.get().blockedReason() == null;
    }

    void onShards(Consumer<PoolShard> action) {
        for (PoolShard shard : shards) {
            try {
                if (shard.loop().inEventLoop()) {
                    action.accept(shard);
                } else {
                    shard.loop().execute(() -> action.accept(shard));
                }
            } catch (RejectedExecutionException e) {
                // The embedding program has shut down that event loop and all its requests.
            }
        }
    }

    int warmCpuMicros() {
        return warmCpuMicros;
    }

    /** A worker that is not fresh has reported the processor time of a request. */
    void onWarmCpu(int micros) {
        warmCpuMicros = SlowStart.warmMicros(warmCpuMicros, micros);
    }

    /** Returns the shards in the order of the event loops. */
    public List<PoolShard> shards() {
        return shards;
    }

    public int pending() {
        return pending.get();
    }

    /** Returns the number of open worker streams, including busy ones and those not ready. */
    public int streams() {
        return streams.get();
    }

    /** Returns the number of worker streams that could take a request now. */
    public int free() {
        int sum = 0;
        for (PoolShard shard : shards) {
            sum += Math.max(0, shard.free.permits());
        }
        return sum;
    }

    /**
     * Returns a client's share: how many worker streams it may hold up while requests of other
     * clients are queued. It is a third, so two clients cannot hold up all streams, and none of one
     * or two streams.
     */
    int share() {
        int open = streams();
        return open == 0 ? SHARE_OF_NONE : open / 3;
    }

    /**
     * Returns how many requests that may hold up a worker stream one client may have. The client
     * alone decides how long such a request occupies its stream.
     *
     * <p>It is at least the client's share. While more streams are free, it is the dynamic
     * threshold of Choudhury and Hahne: four times the free streams that are left. So one client
     * takes at most four fifths of the streams. The default utilization leaves the last fifth, so
     * no worker is launched because of one client's unfinished bodies.
     *
     * <p>One request may always have a stream that no request is queued for, so that a client can
     * stream its request to a pool of one or two streams.
     *
     * @param full whether the client may have to wait before it can send more of the request, so
     *     that the request needs a stream even if other requests are queued
     */
    int holdLimit(boolean full) {
        int least = full || pending() == 0 ? 1 : 0;
        long dynamic = Math.min(Integer.MAX_VALUE, 4L * (free() - 1));
        return (int) Math.max(Math.max(least, share()), dynamic);
    }

    /**
     * Returns how many requests of one client may be queued. This is a dynamic threshold as in
     * {@link #holdLimit}: one client fills at most half of the queue.
     *
     * @param limit maximum number of queued requests
     */
    int queueShare(int limit) {
        return Math.max(MIN_QUEUE_SHARE, limit - queued());
    }

    /**
     * Logs that a request failed because no worker was connected. The launch supervisor logs why no
     * worker is launched.
     */
    void warnOfNoWorker() {
        withoutWorker.warn(
                "function {}: a request failed after {} ms in the queue, because no worker is connected",
                options.name(),
                options.queueTimeout().toMillis());
    }

    /** @return whether no other request waits for a worker stream */
    boolean onPending(long nowNanos) {
        boolean first = pending.getAndIncrement() == 0;
        if (first) {
            standing.begin(nowNanos);
        }
        return first;
    }

    void onStreamOpened(long nowNanos) {
        if (streams.getAndIncrement() == 0) {
            standing.begin(nowNanos);
        }
    }

    /**
     * Records that a client has lost worker streams.
     *
     * @param untilNanos when this record expires
     */
    void onPreempted(ClientShare client, long untilNanos) {
        client.onPreempted(untilNanos);
        preemptedUntilNanos = untilNanos;
        preempted = true;
    }

    /** Returns whether any client may have lost worker streams lately. */
    boolean hasPreempted(long nowNanos) {
        if (preempted && preemptedUntilNanos - nowNanos <= 0) {
            preempted = false;
        }
        return preempted;
    }

    /** Makes all event loops look for streams that are held up, because requests are queued. */
    void observeStreams() {
        if (observed) {
            return;
        }
        observed = true;
        onShards(PoolShard::observeStreams);
    }

    /** Records that a shard no longer observes its streams, because no request is queued. */
    void onUnobserved() {
        observed = false;
    }

    /** Returns the number of requests that wait, whatever they wait for. */
    int queued() {
        return pending.get() + setAside.get();
    }

    long virtualTime() {
        return virtualTime;
    }

    /** Records that the request with this tag has got a worker stream. */
    void onServed(long tag) {
        if (tag > virtualTime) {
            virtualTime = tag;
        }
    }

    /** Sets what says how many workers are launched, and why not. */
    public void launching(Supplier<CapacitySnapshot> snapshot) {
        launching = snapshot;
    }

    /**
     * Sets that no request is served by a worker soon, and refuses the queued requests that cannot
     * be served in time.
     *
     * @param pause {@code null} = requests may be served soon
     * @param mayOverflow whether idempotent requests may be sent another way than to a worker
     */
    public void onLaunchPause(@Nullable LaunchPause pause, boolean mayOverflow) {
        overflows = mayOverflow;
        launchPause = pause;
        if (pause != null && queued() > 0) {
            for (PoolShard shard : shards) {
                Loops.execute(shard.loop(), shard.queue::refuseWaiting);
            }
        }
    }

    /**
     * Returns why the request must not wait, or {@code null} if a worker may serve it in time.
     *
     * @param sinceNanos when its queue timeout begins or began
     */
    @Nullable
    Failure refusal(Exchange exchange, long sinceNanos, long nowNanos) {
        LaunchPause pause = launchPause;
        if (pause == null || streams() > 0 || overflows && exchange.isIdempotent()) {
            return null;
        }
        long leftNanos = pause.untilNanos() - nowNanos;
        boolean endsInTime = pause.untilNanos() - (sinceNanos + standing.timeoutNanos()) < 0;
        if (leftNanos <= 0 || endsInTime && !pause.refusesAll()) {
            return null;
        }
        return new Failure(
                Failure.Kind.LAUNCHES_BLOCKED,
                "no worker connected for function " + options.name() + ", and " + pause.reason(),
                (int) ((leftNanos + SECOND_NANOS - 1) / SECOND_NANOS));
    }

    /** Returns why a request is queued now. */
    WaitReason waitReason() {
        Supplier<CapacitySnapshot> supplier = launching;
        return WaitReason.of(
                streams(),
                supplier == null ? null : supplier.get(),
                options.capacity().maxWorkers());
    }

    /**
     * Sets the listener that event loops call, often, if requests are queued. It must return
     * quickly.
     */
    public void onShortage(Runnable listener) {
        shortage = listener;
    }

    void onShortage() {
        shortage.run();
    }

    /**
     * Takes a sample of all shards, one after the other. Completes on the last event loop.
     *
     * @param withWorkers whether the demand lists workers
     */
    public CompletionStage<Demand> sample(boolean withWorkers) {
        List<Demand> parts = new ArrayList<>();
        CompletableFuture<Void> done = CompletableFuture.completedFuture(null);
        for (PoolShard shard : shards) {
            // The embedding program may have shut down that event loop and all its requests.
            done = done.thenRunAsync(() -> parts.add(shard.sample(withWorkers)), shard.loop())
                    .exceptionally(ended -> null);
        }
        return done.thenApply(all -> Demand.sum(parts, withWorkers));
    }

    /**
     * Returns what each connected worker does, by worker id. Completes on the last event
     * loop, or exceptionally if the embedding program has ended an event loop.
     */
    public CompletableFuture<Map<String, WorkerUse>> inspectWorkers() {
        Map<String, WorkerUse> sums = new HashMap<>();
        CompletableFuture<Void> done = CompletableFuture.completedFuture(null);
        for (PoolShard shard : shards) {
            done = done.thenRunAsync(() -> shard.workers().inspect(sums), shard.loop());
        }
        return done.thenApply(all -> sums);
    }

    /**
     * Limits a worker's concurrent exchanges. The connections that it has open now share the limit.
     *
     * @param exchanges 1 or more; {@link Integer#MAX_VALUE} = no limit
     */
    public void limit(String workerId, int exchanges) {
        int each = (exchanges - 1) / Math.max(1, openWorkers.connections(workerId)) + 1;
        for (PoolShard shard : shards) {
            Loops.execute(shard.loop(), () -> shard.workers().limit(workerId, each));
        }
    }

    public PoolShard shard(int loopIndex) {
        return shards.get(loopIndex);
    }
}
