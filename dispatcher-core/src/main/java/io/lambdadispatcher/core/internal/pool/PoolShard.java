package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.capacity.Demand;
import io.lambdadispatcher.core.internal.capacity.RecentTimes;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.ClientShare;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.ExchangeOwner;
import io.lambdadispatcher.core.internal.exchange.ExchangeTimer;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.Hedge;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.loop.FairQueue;
import io.lambdadispatcher.core.internal.loop.LoopClock;
import io.lambdadispatcher.core.internal.loop.TimerHeap;
import io.lambdadispatcher.core.internal.policy.AttemptBudget;
import io.lambdadispatcher.core.internal.policy.ClientSession;
import io.lambdadispatcher.core.internal.policy.PriorityShares;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.observe.RequestSnapshot;
import io.lambdadispatcher.core.observe.RetryDenial;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.Priority;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Holds a function's worker streams and queued requests of one event loop. A request takes a stream
 * of its own loop if one is free. Otherwise, it takes a permit for a stream of another loop and
 * crosses over to that loop. If there is no permit, the request waits in this shard.
 *
 * <p><i>Threading:</i> everything belongs to the shard's event loop, except what other loops do:
 * they take permits of {@link FreeStreams}, they wake the loop by {@link WakeUps}, which also reads
 * the head of the queue, and a {@link Crossing} passes calls. {@link #loop} and {@link #pool} may be
 * called on any thread. All other methods must be called on the shard's event loop, and each entry
 * point asserts this.
 */
public final class PoolShard implements FunctionOpener, ExchangeOwner {
    /**
     * Maximum number of a function's open bodies that count against no client's share, over all
     * event loops. They occupy at most an eighth of the streams, too.
     */
    private static final int ANYONES_BODIES = 8;

    /** Maximum of all sent bodies of this shard that are kept for another attempt. */
    private static final int MAX_SENT_BYTES = 16 * 1024 * 1024;

    private final FunctionPool pool;
    private final DispatcherObserver observer;
    private final boolean observed;
    private final EventLoop loop;
    private final LoopClock clock;
    final FreeStreams free;
    final WakeUps wakeUps;
    private final ShardWorkers workers;
    private final Placement placement;
    private final ShardTotals totals = new ShardTotals();
    private final FairQueue<Exchange> waiting;
    private final OverShare overShare;
    private final WaitingMemory memory = new WaitingMemory();

    /**
     * A share that belongs to no client, for the first few open bodies. Most bodies arrive with
     * their request headers and end in the same turn. They need no look-up of a client's share.
     */
    private final ClientShare anyone = ClientShare.ofAnyone();

    private final DeadlineQueue<Exchange> inFlight;
    /** Exchanges that have become tunnels, which have no deadline. */
    private final DeadlineQueue<Exchange> tunnels;
    /** Timers of exchanges whose policy needs one. */
    private final TimerHeap<ExchangeTimer> timers;

    private final Preemption preemption;
    private long requestTimeoutNanos;
    private TrafficPolicy traffic;
    private int sentBytes;
    private final AttemptBudget budget;
    /** Times from the start of an attempt to its response's headers, if a policy needs them. */
    private final RecentTimes responseTimes = new RecentTimes();

    /** Why no exchange can begin any more; {@code null} = one can. */
    private @Nullable Failure closed;

    private @Nullable Overflow overflow;

    PoolShard(FunctionPool pool, EventLoop loop, DispatcherObserver observer) {
        this.pool = pool;
        this.observer = observer;
        this.observed = observer != DispatcherObserver.NONE;
        this.loop = loop;
        this.clock = new LoopClock(loop);
        this.free = new FreeStreams(loop, clock);
        this.requestTimeoutNanos = pool.options().requestTimeout().toNanos();
        this.traffic = pool.options().traffic();
        long queueTimeoutNanos = queueTimeoutNanos(pool.options());
        this.waiting = new FairQueue<>(loop, queueTimeoutNanos, this::onQueueTimeout);
        this.wakeUps = new WakeUps(pool, loop, clock, free, waiting, this::serveHead);
        this.workers = new ShardWorkers(this, free, wakeUps);
        this.overShare = new OverShare(
                loop, queueTimeoutNanos, this::setAsideFor, this::mayGo, this::onRoom, this::onShareTimeout);
        this.inFlight = new DeadlineQueue<>(loop, requestTimeoutNanos, this::onRequestTimeout);
        this.placement = new Placement(this, free, wakeUps, inFlight, this::requeue);
        this.tunnels = new DeadlineQueue<>(loop, 0, expired -> {});
        this.timers = new TimerHeap<>(loop, ExchangeTimer::onDue);
        this.budget = new AttemptBudget(pool.options().extraAttempts());
        this.preemption = new Preemption(pool, loop, inFlight, tunnels, observer);
    }

    /** In a queue, 0 means no timeout. */
    private static long queueTimeoutNanos(FunctionOptions options) {
        return Math.max(1, options.queueTimeout().toNanos());
    }

    /** Applies new timeouts and policies. Requests that are queued or in flight keep theirs. */
    @Override
    public void setOptions(FunctionOptions options) {
        assert loop.inEventLoop();
        traffic = options.traffic();
        budget.setPerRequest(options.extraAttempts());
        requestTimeoutNanos = options.requestTimeout().toNanos();
        inFlight.setTimeout(requestTimeoutNanos);
        waiting.setTimeout(queueTimeoutNanos(options));
        overShare.setTimeout(queueTimeoutNanos(options));
    }

    public FunctionPool pool() {
        return pool;
    }

    public EventLoop loop() {
        return loop;
    }

    /** Returns the worker connections of this event loop, which its streams report to. */
    public ShardWorkers workers() {
        return workers;
    }

    /**
     * Limits the memory of queued requests by the memory that is free on this event loop, in bytes.
     * Must be called before the first request.
     */
    public void limitMemoryBy(LongSupplier freeBytes) {
        memory.limitBy(freeBytes);
    }

    // Requests.

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
            exchange.setSession(ClientSession.of(policy.affinity(), head));
        }
        if (observed) {
            exchange.announceTo(observer);
        }
        if (closed != null) {
            exchange.fail(closed);
        } else if (pool.admission.admit(exchange) && exchange.startDeadline()) {
            place(exchange);
        }
        return exchange;
    }

    private void place(Exchange exchange) {
        boolean mayBegin = mayBegin(exchange);
        if (mayBegin) {
            totals.onArrived(exchange);
        }
        boolean mayGo = mayBegin && !waitsForItsWorker(exchange);
        // If requests are queued on any loop, one of them may be next.
        if (mayGo && pool.pending.get() == 0 && placement.dispatch(exchange)) {
            return;
        }
        Failure refusal = pool.refusal(exchange, exchange.startNanos(), nanoTime());
        if (refusal != null) {
            exchange.fail(refusal);
            return;
        }
        Priority priority = exchange.priority();
        if (priority != null && pool.streams() > 0 && pool.priorities.refuses(priority, shedNanos(exchange))) {
            shed(exchange, priority);
            return;
        }
        long bytes = exchange.waitingBytes();
        if (!memory.admits(bytes, bytes, waitingHere())) {
            failForMemory(exchange);
            return;
        }
        if (!tryQueue(exchange)) {
            exchange.fail(new Failure(
                    Failure.Kind.QUEUE_FULL,
                    "no worker free for function " + pool.options().name() + " and " + pool.queued()
                            + " requests are already queued"));
            return;
        }
        long tag = priority == null
                ? exchange.share(pool.shares).nextTag(pool.virtualTime())
                : pool.priorities.nextTag(priority, pool.virtualTime());
        FairQueue.Ticket<Exchange> ticket = waiting.newTicket(exchange, tag, exchange.startNanos());
        if (!mayGo) {
            exchange.onSetAside(mayBegin ? WaitReason.SESSION_WORKER : WaitReason.CLIENT_SHARE);
        }
        exchange.onWaiting(ticket);
        memory.add(exchange.waitingBytes());
        if (overflow != null) {
            overflow.onWaiting(exchange);
        }
        if (mayGo) {
            enqueue(ticket);
        } else {
            setAside(ticket, mayBegin);
        }
    }

    /** @param mayBegin false = the request waits for its client's share, not for its worker */
    private void setAside(FairQueue.Ticket<Exchange> ticket, boolean mayBegin) {
        if (!mayBegin) {
            observer.onProtection(Protection.SHARE_EXCEEDED);
        }
        pool.overShare.incrementAndGet();
        overShare.add(ticket);
    }

    /**
     * Returns whether the exchange may take a worker stream now. A client must not occupy too many
     * worker streams with unfinished bodies, or with responses that it does not read.
     */
    private boolean mayBegin(Exchange exchange) {
        boolean preempted = isPreempted(exchange);
        if (exchange.isRequestEnded() && !preempted) {
            return true;
        }
        // A place that it has is judged again: other requests may be queued by now.
        exchange.release();
        return !preempted && exchange.hold(anyone, anyonesBodies())
                || exchange.hold(exchange.share(pool.shares), pool.holdLimit(!preempted && exchange.fillsWindow()));
    }

    private int anyonesBodies() {
        return Math.min(ANYONES_BODIES, pool.streams() / ANYONES_BODIES)
                / pool.shards().size();
    }

    /** Returns whether the worker of the exchange's session is connected but has no free stream. */
    private boolean waitsForItsWorker(Exchange exchange) {
        ClientSession session = exchange.session();
        return session != null && session.waitsFor(pool.open(), exchange.triedWorkers());
    }

    private boolean mayGo(Exchange exchange) {
        return mayBegin(exchange) && !waitsForItsWorker(exchange);
    }

    /** Returns whose room a request waits for: its session's worker, or its client's share. */
    private Object setAsideFor(Exchange exchange) {
        ClientSession session = exchange.session();
        return session != null && session.isWaiting() ? session.worker() : exchange.share(pool.shares);
    }

    /** A client stays preempted while it has more than its share. */
    private boolean isPreempted(Exchange exchange) {
        long now = nanoTime();
        if (!pool.hasPreempted(now)) {
            return false;
        }
        ClientShare client = exchange.share(pool.shares);
        boolean preempted = client.isPreempted(now);
        if (preempted && client.held() > Math.max(1, pool.share())) {
            pool.onPreempted(client, now + Preemption.MEMORY_NANOS);
        }
        return preempted;
    }

    void observeStreams() {
        preemption.start();
    }

    private boolean tryQueue(Exchange exchange) {
        Priority priority = exchange.priority();
        int max = pool.options().queueLimit();
        int limit = priority == null ? max : PriorityShares.queueLimit(priority, max);
        return pool.queued() < limit && exchange.share(pool.shares).tryQueue(pool.queueShare(limit));
    }

    private static long shedNanos(Exchange exchange) {
        return exchange.policy().admission().shedDelay().toNanos();
    }

    private void shed(Exchange exchange, Priority priority) {
        exchange.fail(new Failure(
                Failure.Kind.SHED,
                "too many " + priority.name().toLowerCase(Locale.ROOT) + " requests are queued for function "
                        + pool.options().name()));
    }

    private void enqueue(FairQueue.Ticket<Exchange> ticket) {
        // This order prevents lost wake-ups: see WakeUps.
        onPending(ticket.entry);
        waiting.add(ticket);
        wakeUps.serveWaiting();
        if (waiting.size() > 0) {
            pool.onShortage();
            pool.observeStreams();
        }
    }

    /** Queues a request for which there is room now. */
    private void onRoom(FairQueue.Ticket<Exchange> ticket) {
        pool.overShare.decrementAndGet();
        totals.onArrived(ticket.entry);
        enqueue(ticket);
    }

    @Override
    public void onHeld(Exchange exchange, int bytes) {
        assert loop.inEventLoop();
        memory.add(bytes);
        if (bytes > 0 && !memory.admits(exchange.waitingBytes(), 0, waitingHere())) {
            failForMemory(exchange);
        } else if (exchange.fillsWindow() && !exchange.isRequestEnded()) {
            lookAgainAt(exchange);
        }
    }

    private int waitingHere() {
        return waiting.size() + overShare.size();
    }

    private void failForMemory(Exchange exchange) {
        observer.onProtection(Protection.MEMORY_REFUSED);
        exchange.fail(new Failure(
                Failure.Kind.OVERLOADED,
                "the queued requests of function " + pool.options().name() + " use too much memory"));
    }

    @Override
    public void onRequestEnded(Exchange exchange) {
        assert loop.inEventLoop();
        exchange.releaseUnlessPreempted();
        lookAgainAt(exchange);
    }

    /** More of the request has arrived, so it may no longer have to wait for its client's share. */
    private void lookAgainAt(Exchange exchange) {
        FairQueue.Ticket<Exchange> ticket = exchange.ticket();
        if (ticket != null && overShare.contains(ticket) && mayGo(exchange)) {
            overShare.remove(ticket);
            onRoom(ticket);
        }
    }

    /**
     * Removes the exchange from its queue.
     *
     * @return false if it was not queued
     */
    private boolean leave(Exchange exchange) {
        FairQueue.Ticket<Exchange> ticket = exchange.ticket();
        if (waiting.remove(ticket)) {
            onLeft(exchange);
            return true;
        }
        if (overShare.remove(ticket)) {
            onLeftOverShare(exchange);
            return true;
        }
        return false;
    }

    private void onPending(Exchange exchange) {
        boolean first = pool.onPending(nanoTime());
        Priority priority = exchange.priority();
        if (priority != null) {
            pool.priorities.onQueued(priority, first);
        }
    }

    private void onLeft(Exchange exchange) {
        pool.pending.decrementAndGet();
        Priority priority = exchange.priority();
        if (priority != null) {
            pool.priorities.onLeft(priority);
        }
        memory.remove(exchange.waitingBytes());
        exchange.share(pool.shares).onDequeued();
    }

    private void onLeftOverShare(Exchange exchange) {
        pool.overShare.decrementAndGet();
        memory.remove(exchange.waitingBytes());
        exchange.share(pool.shares).onDequeued();
    }

    /**
     * Lets idempotent requests that have waited for {@code after} use the carriers of {@code way}.
     * Must be called before the first request.
     */
    public void overflow(Duration after, Supplier<@Nullable Carrier> way) {
        overflow = new Overflow(loop, after, way, this::onOverflowDue);
    }

    private void onOverflowDue(Exchange exchange) {
        if (overflow == null || !waiting.contains(exchange.ticket()) && !overShare.contains(exchange.ticket())) {
            return;
        }
        Carrier carrier = overflow.carrierFor(exchange);
        if (carrier == null) {
            overflow.onWaiting(exchange);
        } else if (leave(exchange)) {
            placement.carry(exchange, carrier);
        }
    }

    /**
     * Serves, sheds or queues again the first request of the queue.
     *
     * @return false if it is empty
     */
    private boolean serveHead() {
        FairQueue.Ticket<Exchange> head = waiting.poll();
        if (head == null) {
            return false;
        }
        // Counted off first, because the carrier may end the exchange immediately.
        onLeft(head.entry);
        if (head.entry.failIfHopeless(nanoTime())) {
            return true;
        }
        // The last request is not shed, because shedding must leave no stream idle.
        if (waiting.size() > 0 && pool.isStale(head.sinceNanos(), nanoTime())) {
            observer.onProtection(Protection.QUEUE_SHED);
            failQueued(
                    head.entry,
                    "no worker is likely to be free soon",
                    ", because its queue has not been empty for too long");
            return true;
        }
        Priority priority = head.entry.priority();
        if (priority != null && hasWaitedTooLong(head, priority) && waiting.size() > 0) {
            shed(head.entry, priority);
            return true;
        }
        boolean mayBegin = mayBegin(head.entry);
        if (!mayBegin || waitsForItsWorker(head.entry)) {
            memory.add(head.entry.waitingBytes());
            head.entry.share(pool.shares).onQueued();
            setAside(head, mayBegin);
        } else if (placement.dispatch(head.entry)) {
            pool.onServed(head.tag);
        } else {
            queueAgain(head);
        }
        return true;
    }

    private boolean hasWaitedTooLong(FairQueue.Ticket<Exchange> head, Priority priority) {
        long now = nanoTime();
        return pool.priorities.sheds(priority, shedNanos(head.entry), pool.waitedNanos(head.sinceNanos(), now), now);
    }

    @Override
    public TimerHeap<ExchangeTimer> timers() {
        return timers;
    }

    @Override
    public @Nullable RetryDenial takeExtraAttempt(ExtraAttempt reason) {
        assert loop.inEventLoop();
        RetryDenial denial = budget.denial(reason, pool.queued() > 0);
        if (denial == null) {
            budget.take();
        }
        return denial;
    }

    @Override
    public void retry(Exchange exchange) {
        assert loop.inEventLoop();
        inFlight.remove(exchange);
        // Not by way of the queue: while it is not empty, other loops would not retry.
        if (pool.pending.get() != 0 || !mayGo(exchange) || !placement.dispatch(exchange)) {
            waitAgain(earlierTicket(exchange));
        }
    }

    @Override
    public @Nullable RetryDenial start(Hedge hedge, List<String> tried) {
        assert loop.inEventLoop();
        RetryDenial denial = budget.denial(ExtraAttempt.HEDGE, pool.queued() > 0);
        if (denial != null) {
            return denial;
        }
        Carrier carrier = placement.carrierFor(hedge, tried);
        if (carrier == null) {
            return RetryDenial.NO_OTHER_WORKER;
        }
        budget.take();
        hedge.carryOn(carrier);
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
    public FairQueue.Ticket<Exchange> newTicket(Exchange exchange) {
        return newTicketInFront(exchange, nanoTime());
    }

    @Override
    public boolean requeue(Exchange exchange) {
        assert loop.inEventLoop();
        inFlight.remove(exchange);
        waitAgain(earlierTicket(exchange));
        return true;
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

    /** Returns the ticket of a request that has lost nothing but time. Its timeout continues. */
    private FairQueue.Ticket<Exchange> earlierTicket(Exchange exchange) {
        FairQueue.Ticket<Exchange> previous = exchange.ticket();
        return previous == null ? newTicketInFront(exchange, exchange.startNanos()) : previous;
    }

    private void waitAgain(FairQueue.Ticket<Exchange> ticket) {
        if (closed != null) {
            ticket.entry.fail(closed);
            return;
        }
        queueAgain(ticket);
        wakeUps.serveWaiting();
    }

    private void queueAgain(FairQueue.Ticket<Exchange> ticket) {
        ticket.entry.onWaiting(ticket);
        memory.add(ticket.entry.waitingBytes());
        ticket.entry.share(pool.shares).onQueued();
        onPending(ticket.entry);
        waiting.add(ticket);
        // Lambda has just throttled what was sent directly.
        if (overflow != null && !ticket.entry.wasSentDirectly()) {
            overflow.onWaiting(ticket.entry);
        }
    }

    /**
     * Creates a ticket for a request that was already served: its client's turn is not over yet.
     */
    private FairQueue.Ticket<Exchange> newTicketInFront(Exchange exchange, long sinceNanos) {
        return waiting.newTicket(exchange, pool.virtualTime(), sinceNanos);
    }

    @Override
    public void onEnded(Exchange exchange, Outcome outcome, @Nullable Failure failure) {
        assert loop.inEventLoop();
        if (inFlight.remove(exchange)) {
            totals.onEnded(exchange, outcome);
        } else if (!leave(exchange)) {
            tunnels.remove(exchange);
        }
        exchange.release();
        exchange.releaseShare(pool.shares);
        exchange.report(outcome, failure);
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

    @Override
    public WaitReason waitReason() {
        return pool.waitReason();
    }

    @Override
    public String function() {
        return pool.options().name();
    }

    @Override
    public boolean isQuiet() {
        assert loop.inEventLoop();
        return waiting.size() == 0 && overShare.size() == 0 && inFlight.size() == 0;
    }

    @Override
    public boolean failQueued(Failure failure) {
        assert loop.inEventLoop();
        closed = failure;
        boolean any = waiting.size() > 0 || overShare.size() > 0;
        for (FairQueue.Ticket<Exchange> left = waiting.peek(); left != null; left = waiting.peek()) {
            left.entry.fail(failure);
        }
        for (FairQueue.Ticket<Exchange> left = overShare.peek(); left != null; left = overShare.peek()) {
            left.entry.fail(failure);
        }
        return any;
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
        waiting.forOldest(limit, exchange -> snapshots.accept(exchange.snapshot(RequestSnapshot.State.QUEUED)));
        overShare.forOldest(limit, exchange -> snapshots.accept(exchange.snapshot(asideState(exchange))));
    }

    private RequestSnapshot.State asideState(Exchange exchange) {
        ClientSession session = exchange.session();
        boolean forWorker = session != null && session.isWaiting();
        return forWorker ? RequestSnapshot.State.QUEUED : RequestSnapshot.State.OVER_SHARE;
    }

    private void onQueueTimeout(FairQueue.Ticket<Exchange> expired) {
        onLeft(expired.entry);
        boolean isAnyConnected = pool.streams() > 0;
        if (!isAnyConnected) {
            pool.warnOfNoWorker();
        }
        failQueued(expired.entry, isAnyConnected ? "no worker free" : "no worker connected", withinTimeout());
    }

    private void onShareTimeout(FairQueue.Ticket<Exchange> expired) {
        onLeftOverShare(expired.entry);
        ClientSession session = expired.entry.session();
        if (session != null && session.isWaiting()) {
            session.stopWaiting();
            if (!placement.dispatch(expired.entry)) {
                failQueued(expired.entry, "the worker of the session has no room", withinTimeout());
            }
            return;
        }
        failQueued(expired.entry, "too many unfinished requests of the same client", withinTimeout());
    }

    /** Fails the queued requests that cannot be served in time, because launches are blocked. */
    void refuseQueued() {
        assert loop.inEventLoop();
        List<Exchange> queued = new ArrayList<>();
        waiting.forOldest(waiting.size(), queued::add);
        overShare.forOldest(overShare.size(), queued::add);
        for (Exchange exchange : queued) {
            FairQueue.Ticket<Exchange> ticket = exchange.ticket();
            // A request that fails may end or start others.
            if (ticket != null && (waiting.contains(ticket) || overShare.contains(ticket))) {
                Failure refusal = pool.refusal(exchange, ticket.sinceNanos(), nanoTime());
                if (refusal != null) {
                    exchange.fail(refusal);
                }
            }
        }
    }

    private String withinTimeout() {
        return " within " + millis(pool.options().queueTimeout());
    }

    private void failQueued(Exchange exchange, String why, String more) {
        exchange.fail(new Failure(
                Failure.Kind.QUEUE_TIMEOUT,
                why + " for function " + pool.options().name() + more));
    }

    private void onRequestTimeout(Exchange exchange) {
        exchange.fail(new Failure(
                Failure.Kind.TIMEOUT,
                "no complete response within " + millis(pool.options().requestTimeout())));
    }

    private static String millis(Duration duration) {
        return duration.toMillis() + " ms";
    }

    @Override
    public long nanoTime() {
        return clock.nanoTime();
    }

    @Override
    public long requestTimeoutNanos() {
        return requestTimeoutNanos;
    }

    // For the capacity controller.

    /**
     * Returns the totals of this event loop. The caller owns the service times in it; the shard
     * starts new ones.
     */
    Demand sample(boolean withWorkers) {
        assert loop.inEventLoop();
        return totals.sample(inFlight.size() + tunnels.size(), waiting.size(), withWorkers ? workers.sample() : null);
    }
}
