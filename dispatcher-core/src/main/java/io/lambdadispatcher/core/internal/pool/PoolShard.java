package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.capacity.Demand;
import io.lambdadispatcher.core.internal.capacity.RecentTimes;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.ExchangeOwner;
import io.lambdadispatcher.core.internal.exchange.ExchangeTimer;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.exchange.Try;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.loop.FairQueue;
import io.lambdadispatcher.core.internal.loop.LoopClock;
import io.lambdadispatcher.core.internal.loop.TimerHeap;
import io.lambdadispatcher.core.internal.policy.AttemptBudget;
import io.lambdadispatcher.core.internal.policy.ClientSession;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.RequestSnapshot;
import io.lambdadispatcher.core.observe.RetryDenial;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The door of a function on one event loop. Its requests come in here, wait in the {@link
 * ShardQueue} if {@link Placement} finds no worker stream for them, are in flight until their
 * response or tunnel ends, and are reported at the end. Its worker connections report to {@link
 * ShardWorkers}.
 *
 * <p><i>Threading:</i> everything belongs to the shard's event loop, and all methods must be called
 * there, except {@link #loop}, {@link #pool} and {@link #workers}. Only these things cross loops:
 *
 * <ul>
 *   <li>{@link FreeStreams} gives permits for its streams to requests of other loops, and a {@link
 *       Crossing} passes the calls of such a request between the two loops.
 *   <li>{@link WakeUps} shows the head of the queue to other loops, and is woken by them.
 *   <li>{@link FunctionPool} counts over all loops, as does the {@link
 *       io.lambdadispatcher.core.internal.exchange.ClientShare} of a client. Its list of open
 *       connections, which affinity chooses from, shows how busy each {@link PooledConnection} is.
 * </ul>
 */
public final class PoolShard implements FunctionOpener, ExchangeOwner {
    /** Maximum of all sent bodies of this shard that are kept for another attempt. */
    private static final int MAX_SENT_BYTES = 16 * 1024 * 1024;

    final FreeStreams free;
    final WakeUps wakeUps;
    final ShardQueue queue;

    private final FunctionPool pool;
    private final DispatcherObserver observer;
    private final boolean observed;
    private final EventLoop loop;
    private final LoopClock clock;
    private final ShardWorkers workers;
    private final ShardTotals totals = new ShardTotals();
    private final DeadlineQueue<Exchange> inFlight;
    /** Exchanges that have become tunnels, which have no deadline. */
    private final DeadlineQueue<Exchange> tunnels;

    private final Preemption preemption;
    /** Timers of exchanges whose policy needs one. */
    private final TimerHeap<ExchangeTimer> timers;

    private final AttemptBudget budget;
    /** Times from the start of an attempt to its response's headers, if a policy needs them. */
    private final RecentTimes responseTimes = new RecentTimes();

    private long workerTimeoutNanos;
    private TrafficPolicy traffic;
    private int sentBytes;

    PoolShard(FunctionPool pool, EventLoop loop, DispatcherObserver observer) {
        this.pool = pool;
        this.observer = observer;
        this.observed = observer != DispatcherObserver.NONE;
        this.loop = loop;
        this.clock = new LoopClock(loop);
        this.workerTimeoutNanos = pool.options().workerTimeout().toNanos();
        this.traffic = pool.options().traffic();
        this.inFlight = new DeadlineQueue<>(loop, workerTimeoutNanos, this::onRequestTimeout);
        this.tunnels = new DeadlineQueue<>(loop, 0, expired -> {});
        this.preemption = new Preemption(pool, loop, inFlight, tunnels, observer);
        this.timers = new TimerHeap<>(loop, ExchangeTimer::onDue);
        this.budget = new AttemptBudget(pool.options().retryBudget());
        this.free = new FreeStreams(loop, clock);
        this.queue = new ShardQueue(this, clock, observer, free, inFlight, totals);
        this.wakeUps = queue.wakeUps;
        this.workers = new ShardWorkers(this, free, wakeUps);
    }

    /** Applies new timeouts and policies. Requests that are queued or in flight keep theirs. */
    @Override
    public void setOptions(FunctionOptions options) {
        assert loop.inEventLoop();
        traffic = options.traffic();
        budget.setPerRequest(options.retryBudget());
        workerTimeoutNanos = options.workerTimeout().toNanos();
        inFlight.setTimeout(workerTimeoutNanos);
        queue.setOptions(options);
        workers.preferBase();
    }

    public FunctionPool pool() {
        return pool;
    }

    public EventLoop loop() {
        return loop;
    }

    /** Returns the worker connections of this event loop, to which these report. */
    public ShardWorkers workers() {
        return workers;
    }

    /**
     * Limits the memory of queued requests by the memory that is free on this event loop, in bytes.
     * Must be called before the first request.
     */
    public void limitMemoryBy(LongSupplier freeBytes) {
        queue.limitMemoryBy(freeBytes);
    }

    /**
     * Lets idempotent requests that have waited for {@code after} use the carriers of {@code way}.
     * Must be called before the first request.
     */
    public void overflow(Duration after, Supplier<@Nullable Carrier> way) {
        queue.overflow(after, way);
    }

    void observeStreams() {
        preemption.start();
    }

    // The life of a request.

    @Override
    public TrafficPolicy policy() {
        return traffic;
    }

    /** Starts an exchange. When this returns, the exchange is carried, queued or failed. */
    @Override
    public Exchange open(Http2Headers head, boolean end, ResponseSink response) {
        return open(head, end, response, traffic);
    }

    @Override
    public Exchange open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy) {
        assert loop.inEventLoop();
        budget.onRequest();
        Exchange exchange = Exchange.begin(this, head, end, response, policy);
        if (policy.affinity() != Affinity.NONE) {
            exchange.place().setSession(ClientSession.of(policy.affinity(), head));
        }
        String inProcess = pool.openWorkers.inProcess();
        if (inProcess != null && exchange.asksForTunnel()) {
            exchange.attempts().avoid(inProcess);
        }
        if (observed) {
            exchange.announceTo(observer);
        }
        Failure closed = queue.closed();
        if (closed != null) {
            exchange.fail(closed);
        } else if (pool.admission.admit(exchange) && exchange.startDeadline()) {
            queue.place(exchange);
        }
        return exchange;
    }

    @Override
    public void onHeld(Exchange exchange, int bytes) {
        assert loop.inEventLoop();
        queue.onHeld(exchange, bytes);
    }

    @Override
    public void onRequestEnded(Exchange exchange) {
        assert loop.inEventLoop();
        exchange.place().releaseUnlessPreempted();
        queue.onRequestEnded(exchange);
    }

    @Override
    public void retry(Exchange exchange) {
        assert loop.inEventLoop();
        inFlight.remove(exchange);
        queue.retry(exchange);
    }

    @Override
    public boolean requeue(Exchange exchange) {
        assert loop.inEventLoop();
        inFlight.remove(exchange);
        queue.waitAgain(exchange);
        return true;
    }

    @Override
    public FairQueue.Ticket<Exchange> newTicket(Exchange exchange) {
        return queue.newTicketInFront(exchange, nanoTime());
    }

    /**
     * Counts the time until here as the exchange's service time. A tunnel can stay open for hours,
     * which would make the mean service time useless to the capacity controller.
     */
    @Override
    public void onTunnelOpened(Exchange exchange) {
        assert loop.inEventLoop();
        inFlight.remove(exchange);
        totals.onServed(exchange);
        tunnels.add(exchange, 0);
    }

    private void onRequestTimeout(Exchange exchange) {
        totals.onEnded(exchange, Outcome.FAILED);
        exchange.fail(new Failure(
                Failure.Kind.TIMEOUT,
                "no complete response within " + pool.options().workerTimeout().toMillis() + " ms"));
    }

    @Override
    public void onEnded(Exchange exchange, Outcome outcome, @Nullable Failure failure) {
        assert loop.inEventLoop();
        if (inFlight.remove(exchange)) {
            totals.onEnded(exchange, outcome);
        } else if (!queue.leave(exchange)) {
            tunnels.remove(exchange);
        }
        exchange.place().release();
        exchange.place().releaseShare(pool.shares);
        exchange.report(outcome, failure);
    }

    // Further attempts of a request.

    @Override
    public @Nullable RetryDenial takeExtraAttempt(ExtraAttempt reason) {
        assert loop.inEventLoop();
        RetryDenial denial = budget.denial(reason, pool.pending() > 0);
        if (denial == null) {
            budget.take();
        }
        return denial;
    }

    @Override
    public @Nullable RetryDenial start(Try next, List<String> tried) {
        assert loop.inEventLoop();
        RetryDenial denial = budget.denial(ExtraAttempt.HEDGE, pool.pending() > 0);
        if (denial != null) {
            return denial;
        }
        Carrier carrier = queue.placement.carrierFor(next, tried);
        if (carrier == null) {
            return RetryDenial.NO_OTHER_WORKER;
        }
        budget.take();
        next.carryOn(carrier);
        return null;
    }

    @Override
    public void onResponseTime(long nanos) {
        responseTimes.record(nanos);
    }

    @Override
    public long responseTimeNanos(double quantile) {
        return responseTimes.quantileNanos(quantile);
    }

    @Override
    public boolean mayBeBusy() {
        return pool.isShared();
    }

    @Override
    public boolean mayKeepSent(int bytes) {
        assert loop.inEventLoop();
        boolean may = sentBytes + bytes <= MAX_SENT_BYTES;
        sentBytes += may ? bytes : 0;
        return may;
    }

    @Override
    public void onSentDropped(int bytes) {
        assert loop.inEventLoop();
        sentBytes -= bytes;
    }

    // All requests.

    @Override
    public boolean isQuiet() {
        assert loop.inEventLoop();
        return queue.size() == 0 && inFlight.size() == 0;
    }

    @Override
    public boolean failQueued(Failure failure) {
        assert loop.inEventLoop();
        return queue.close(failure);
    }

    @Override
    public void failAll(Failure failure) {
        // Queued requests fail first: otherwise, they would get the streams that become free.
        failQueued(failure);
        failAll(inFlight, failure);
        failAll(tunnels, failure);
    }

    private static void failAll(DeadlineQueue<Exchange> exchanges, Failure failure) {
        for (Exchange left = exchanges.poll(); left != null; left = exchanges.poll()) {
            left.fail(failure);
        }
    }

    @Override
    public void inspect(int limit, Consumer<RequestSnapshot> snapshots) {
        assert loop.inEventLoop();
        Consumer<Exchange> begun = exchange -> snapshots.accept(exchange.snapshot(RequestSnapshot.State.SENT));
        inFlight.forOldest(limit, begun);
        tunnels.forOldest(limit, begun);
        queue.inspect(limit, snapshots);
    }

    /**
     * Returns the totals of this event loop. The caller owns the service times in it, and new ones
     * begin here.
     */
    Demand sample(boolean withWorkers) {
        assert loop.inEventLoop();
        int busy = inFlight.size() + tunnels.size();
        Demand.Tunnels others = pool.openWorkers.inProcess() == null
                ? Demand.Tunnels.NONE
                : new Demand.Tunnels(tunnels.size(), queue.waitingTunnels());
        return totals.sample(busy, queue.pending(), others, workers.taken(), withWorkers ? workers.sample() : null);
    }

    // What an exchange asks its owner.

    @Override
    public TimerHeap<ExchangeTimer> timers() {
        return timers;
    }

    @Override
    public WaitReason waitReason() {
        return pool.waitReason();
    }

    @Override
    public String function() {
        return pool.options().name();
    }

    @Override
    public long nanoTime() {
        return clock.nanoTime();
    }

    @Override
    public long workerTimeoutNanos() {
        return workerTimeoutNanos;
    }
}
