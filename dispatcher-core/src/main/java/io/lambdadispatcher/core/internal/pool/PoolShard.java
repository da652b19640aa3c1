package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.capacity.Demand;
import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.internal.capacity.RecentTimes;
import io.lambdadispatcher.core.internal.capacity.ServiceTimes;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.ClientShare;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.ExchangeOwner;
import io.lambdadispatcher.core.internal.exchange.ExchangeTimer;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.QueuePlace;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.exchange.Try;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.loop.FairQueue;
import io.lambdadispatcher.core.internal.loop.LoopClock;
import io.lambdadispatcher.core.internal.loop.TimerHeap;
import io.lambdadispatcher.core.internal.policy.AttemptBudget;
import io.lambdadispatcher.core.internal.policy.ClientSession;
import io.lambdadispatcher.core.internal.policy.GroupHealth;
import io.lambdadispatcher.core.internal.policy.PriorityShares;
import io.lambdadispatcher.core.internal.policy.SlowStart;
import io.lambdadispatcher.core.internal.policy.WorkerHealth;
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
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Holds a function's worker streams and queued requests of one event loop. A request takes a stream
 * of its own loop if one is free. Otherwise, it takes a permit for a stream of another loop and
 * crosses over to that loop. If there is no permit, the request waits in this shard.
 *
 * <p><i>Permits:</i> a permit is the right to one free stream of a shard. Any loop can take it
 * atomically. The stream's loop decides which stream it becomes. {@code permits} = free streams −
 * permits that other loops have taken but not used yet. The count is below zero for a moment if
 * streams close whose permits are taken. The request of such a permit finds no stream and is queued
 * again.
 *
 * <p><i>No lost wake-up:</i> a request counts itself as pending and becomes visible in its queue
 * before it looks for permits a last time. A stream returns its permit before it looks for pending
 * requests and at the heads of queues. A shard that leaves permits to another shard wakes it, and
 * the other shard follows the same rules. {@code WakeUpStress} and {@code PermitStress} (profile
 * {@code jcstress}) try all interleavings.
 *
 * <p><i>Threading:</i> {@link #tryAcquire}, {@link #permits}, {@link #loop} and {@link #pool} may
 * be called on any thread. All other methods must be called on the shard's event loop, and each
 * entry point asserts this.
 */
public final class PoolShard implements FunctionOpener, ExchangeOwner {
    /**
     * Maximum number of a function's open bodies that count against no client's share, over all
     * event loops. They occupy at most an eighth of the streams, too.
     */
    private static final int ANYONES_BODIES = 8;

    /**
     * The time after which a queued request takes precedence over the requests of another loop.
     * Crossing over costs two wake-ups, so a stream first serves its own loop. The order between
     * loops can be wrong by this time plus the time of a wake-up.
     */
    private static final long YIELD_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    /**
     * The time after a wake-up within which an event loop must look for permits. Other loops no
     * longer wait for a loop that takes longer.
     */
    private static final long STALLED_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private static final Failure NO_STREAM =
            new Failure(Failure.Kind.WORKER_LOST, "the worker stream was taken by another request");

    /** Maximum of all sent bodies of this shard that are kept for another attempt. */
    private static final int MAX_SENT_BYTES = 16 * 1024 * 1024;

    private final FunctionPool pool;
    private final DispatcherObserver observer;
    private final boolean observed;
    private final EventLoop loop;
    private final LoopClock clock;
    private final AtomicInteger permits = new AtomicInteger();

    /**
     * When this shard's event loop was asked to look for permits, by the loops' ticker; 0 if it has
     * looked since.
     */
    private final AtomicLong wokenNanos = new AtomicLong();

    private final Runnable onWoken = this::onWoken;
    private final LeastOutstanding<PooledConnection> members = new LeastOutstanding<>();
    private final FairQueue<Exchange> waiting;
    private final OverShare overShare;
    private final WaitingMemory memory = new WaitingMemory();

    /**
     * A share that belongs to no client, for the first few open bodies. Most bodies arrive with
     * their request headers and end in the same turn. They need no look-up of a client's share.
     */
    private final ClientShare anyone = ClientShare.ofAnyone();

    private final DeadlineQueue<Exchange> underWay;
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

    // Worker connections of this loop by worker id.
    private final Map<String, Set<PooledConnection>> all = new LinkedHashMap<>();
    final Ejector ejector = new Ejector(this, all, this::onLimit);
    private final GroupHealth.Tally tally;
    private boolean serving;
    private boolean lookScheduled;

    // The worker connection that got the last exchange, and when.
    private @Nullable PooledConnection lastTaken;
    private long lastTakenNanos;

    // For the capacity controller.
    private long arrived;
    private long completed;
    private long serviceNanos;
    private ServiceTimes serviceTimes = new ServiceTimes();

    PoolShard(FunctionPool pool, EventLoop loop, DispatcherObserver observer) {
        this.pool = pool;
        this.observer = observer;
        this.observed = observer != DispatcherObserver.NONE;
        this.loop = loop;
        this.clock = new LoopClock(loop);
        this.tally = pool.health.newTally();
        this.requestTimeoutNanos = pool.options().requestTimeout().toNanos();
        this.traffic = pool.options().traffic();
        long queueTimeoutNanos = queueTimeoutNanos(pool.options());
        this.waiting = new FairQueue<>(loop, queueTimeoutNanos, this::onQueueTimeout);
        this.overShare = new OverShare(
                loop, queueTimeoutNanos, this::setAsideFor, this::mayGo, this::onRoom, this::onShareTimeout);
        this.underWay = new DeadlineQueue<>(loop, requestTimeoutNanos, this::onRequestTimeout);
        this.tunnels = new DeadlineQueue<>(loop, 0, expired -> {});
        this.timers = new TimerHeap<>(loop, ExchangeTimer::onDue);
        this.budget = new AttemptBudget(pool.options().extraAttempts());
        this.preemption = new Preemption(pool, loop, underWay, tunnels, observer);
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
        underWay.setTimeout(requestTimeoutNanos);
        waiting.setTimeout(queueTimeoutNanos(options));
        overShare.setTimeout(queueTimeoutNanos(options));
    }

    public FunctionPool pool() {
        return pool;
    }

    public EventLoop loop() {
        return loop;
    }

    /** Returns the permits that are left; may be negative for a moment. Any thread. */
    int permits() {
        return permits.get();
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
            exchange.place().setSession(ClientSession.of(policy.affinity(), head));
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
        arrived += mayBegin && exchange.place().countsAsArrived() ? 1 : 0;
        boolean mayGo = mayBegin && !waitsForItsWorker(exchange);
        // If requests are queued on any loop, one of them may be next.
        if (mayGo && pool.pending.get() == 0 && dispatch(exchange)) {
            return;
        }
        Failure refusal = pool.refusal(exchange, exchange.startNanos(), nanoTime());
        if (refusal != null) {
            exchange.fail(refusal);
            return;
        }
        Priority priority = exchange.place().priority();
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
                ? exchange.place().share(pool.shares).nextTag(pool.virtualTime())
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
        QueuePlace place = exchange.place();
        place.release();
        return !preempted && place.hold(anyone, anyonesBodies())
                || place.hold(place.share(pool.shares), pool.holdLimit(!preempted && exchange.fillsWindow()));
    }

    private int anyonesBodies() {
        return Math.min(ANYONES_BODIES, pool.streams() / ANYONES_BODIES)
                / pool.shards().size();
    }

    /** Returns whether the worker of the exchange's session is connected but has no free stream. */
    private boolean waitsForItsWorker(Exchange exchange) {
        ClientSession session = exchange.place().session();
        return session != null
                && session.waitsFor(pool.open(), exchange.attempts().tried());
    }

    private boolean mayGo(Exchange exchange) {
        return mayBegin(exchange) && !waitsForItsWorker(exchange);
    }

    /** Returns whose room a request waits for: its session's worker, or its client's share. */
    private Object setAsideFor(Exchange exchange) {
        ClientSession session = exchange.place().session();
        return session != null && session.isWaiting()
                ? session.worker()
                : exchange.place().share(pool.shares);
    }

    /** A client stays preempted while it has more than its share. */
    private boolean isPreempted(Exchange exchange) {
        long now = nanoTime();
        if (!pool.hasPreempted(now)) {
            return false;
        }
        ClientShare client = exchange.place().share(pool.shares);
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
        Priority priority = exchange.place().priority();
        int max = pool.options().queueLimit();
        int limit = priority == null ? max : PriorityShares.queueLimit(priority, max);
        return pool.queued() < limit && exchange.place().share(pool.shares).tryQueue(pool.queueShare(limit));
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
        // This order prevents lost wake-ups: see the comment of this class.
        onPending(ticket.entry);
        waiting.add(ticket);
        serveWaiting();
        if (waiting.size() > 0) {
            pool.onShortage();
            pool.observeStreams();
        }
    }

    /** Queues a request for which there is room now. */
    private void onRoom(FairQueue.Ticket<Exchange> ticket) {
        pool.overShare.decrementAndGet();
        arrived += ticket.entry.place().countsAsArrived() ? 1 : 0;
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
        exchange.place().releaseUnlessPreempted();
        lookAgainAt(exchange);
    }

    /** More of the request has arrived, so it may no longer have to wait for its client's share. */
    private void lookAgainAt(Exchange exchange) {
        FairQueue.Ticket<Exchange> ticket = exchange.place().ticket();
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
        FairQueue.Ticket<Exchange> ticket = exchange.place().ticket();
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
        Priority priority = exchange.place().priority();
        if (priority != null) {
            pool.priorities.onQueued(priority, first);
        }
    }

    private void onLeft(Exchange exchange) {
        pool.pending.decrementAndGet();
        Priority priority = exchange.place().priority();
        if (priority != null) {
            pool.priorities.onLeft(priority);
        }
        memory.remove(exchange.waitingBytes());
        exchange.place().share(pool.shares).onDequeued();
    }

    private void onLeftOverShare(Exchange exchange) {
        pool.overShare.decrementAndGet();
        memory.remove(exchange.waitingBytes());
        exchange.place().share(pool.shares).onDequeued();
    }

    private boolean dispatch(Exchange exchange) {
        List<String> tried = exchange.attempts().tried();
        ClientSession session = exchange.place().session();
        PooledConnection wanted = session == null ? null : session.choose(pool.open(), tried);
        if (wanted != null) {
            return dispatchTo(wanted, exchange);
        }
        if (!tried.isEmpty()) {
            return dispatchToAnother(exchange, tried, 0);
        }
        // If all workers of this loop are in doubt, those of other loops come first.
        return areAllDoubted() && crossOver(exchange, 0, List.of()) || dispatchToAny(exchange);
    }

    /**
     * Sends the exchange to the worker connection of its session, on any loop.
     *
     * @return false if another event loop has taken the last permit just now
     */
    private boolean dispatchTo(PooledConnection wanted, Exchange exchange) {
        PoolShard its = wanted.shard;
        if (its == null || !its.tryAcquire()) {
            return false;
        }
        if (its != this) {
            crossOver(exchange, its, wanted, List.of());
            return true;
        }
        Carrier stream = takeStreamOf(wanted);
        if (stream == null) {
            onPermitUnused();
            return false;
        }
        carry(exchange, stream);
        return true;
    }

    private boolean dispatchToAny(Exchange exchange) {
        if (tryAcquire()) {
            Carrier stream = takeStream(List.of());
            if (stream != null) {
                carry(exchange, stream);
                return true;
            }
            onPermitUnused();
        }
        return crossOver(exchange, 0, List.of());
    }

    private boolean areAllDoubted() {
        PooledConnection least = members.least();
        long now = nanoTime();
        return least != null && least.isDoubted(now) && members.least(each -> !each.isDoubted(now)) == null;
    }

    /**
     * Sends the exchange to a worker that is not among {@code tried} if any has room, on any loop.
     * Only the other loop knows its workers. So an exchange may find none after it crossed over,
     * comes back and tries the next loop.
     *
     * @param from index of the first shard to try
     */
    private boolean dispatchToAnother(Exchange exchange, List<String> tried, int from) {
        Carrier stream = from == 0 ? tryTakeExcept(tried) : null;
        if (stream != null) {
            carry(exchange, stream);
            return true;
        }
        if (crossOver(exchange, from, tried)) {
            return true;
        }
        // Avoid the worker only once: otherwise, two exchanges that avoid the same worker could
        // take permits from each other and look for another worker forever.
        exchange.attempts().avoidNoWorker();
        return dispatchToAny(exchange);
    }

    /** Takes a stream of this loop from a worker that is not among {@code tried}, if any. */
    private @Nullable Carrier tryTakeExcept(List<String> tried) {
        if (leastExcept(tried) == null || !tryAcquire()) {
            return null;
        }
        Carrier stream = takeStream(tried);
        if (stream == null) {
            onPermitUnused();
        }
        return stream;
    }

    private boolean crossOver(Exchange exchange, int from, List<String> avoided) {
        PoolShard other = tryAcquireElsewhere(from);
        if (other == null) {
            return false;
        }
        crossOver(exchange, other, null, avoided);
        return true;
    }

    private void crossOver(
            Exchange exchange, PoolShard other, @Nullable PooledConnection wanted, List<String> avoided) {
        // The worker of a session is on any loop, so the other loops were not tried.
        int next = wanted != null ? 0 : pool.shards().indexOf(other) + 1;
        Try nextTry = exchange.attempts().upcoming();
        carry(exchange, new Crossing(nextTry, this, other, wanted, avoided, () -> onStranded(exchange, next)));
    }

    /**
     * Takes a permit of another shard.
     *
     * @param from index of the first shard to try
     */
    private @Nullable PoolShard tryAcquireElsewhere(int from) {
        List<PoolShard> shards = pool.shards();
        for (int i = from; i < shards.size(); i++) {
            PoolShard other = shards.get(i);
            if (other != this && other.tryAcquire()) {
                return other;
            }
        }
        return null;
    }

    private void carry(Exchange exchange, Carrier stream) {
        begin(exchange, stream);
        exchange.carryOn(stream);
    }

    private void begin(Exchange exchange, Carrier carrier) {
        underWay.add(exchange, exchange.onCarrierFound(carrier));
    }

    /**
     * Lets idempotent requests that have waited for {@code after} use the carriers of {@code way}.
     * Must be called before the first request.
     */
    public void overflow(Duration after, Supplier<@Nullable Carrier> way) {
        overflow = new Overflow(loop, after, way, this::onOverflowDue);
    }

    private void onOverflowDue(Exchange exchange) {
        if (overflow == null
                || !waiting.contains(exchange.place().ticket())
                        && !overShare.contains(exchange.place().ticket())) {
            return;
        }
        Carrier carrier = overflow.carrierFor(exchange);
        if (carrier == null) {
            overflow.onWaiting(exchange);
        } else if (leave(exchange)) {
            carry(exchange, carrier);
        }
    }

    /**
     * Serves queued requests while there are permits, in the order of their tags. Wakes the loop
     * whose request is next.
     */
    private void serveWaiting() {
        assert loop.inEventLoop();
        if (serving) {
            // A request that fails or is served may start another, and the loop below checks again.
            return;
        }
        serving = true;
        try {
            while (anyPermit()) {
                PoolShard next = waiting.size() > 0 ? elder() : best(FairQueue.EMPTY, Long.MIN_VALUE);
                boolean over = next == null ? !serveHead() : next.wake();
                if (over) {
                    if (waiting.size() > 0) {
                        lookAgain();
                    }
                    return;
                }
            }
        } finally {
            serving = false;
        }
    }

    /** Schedules another try, because the loop that has precedence may be stalled. */
    private void lookAgain() {
        if (!lookScheduled) {
            lookScheduled = true;
            loop.schedule(
                    () -> {
                        lookScheduled = false;
                        serveWaiting();
                    },
                    STALLED_NANOS + 1,
                    TimeUnit.NANOSECONDS);
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
        Priority priority = head.entry.place().priority();
        if (priority != null && hasWaitedTooLong(head, priority) && waiting.size() > 0) {
            shed(head.entry, priority);
            return true;
        }
        boolean mayBegin = mayBegin(head.entry);
        if (!mayBegin || waitsForItsWorker(head.entry)) {
            memory.add(head.entry.waitingBytes());
            head.entry.place().share(pool.shares).onQueued();
            setAside(head, mayBegin);
        } else if (dispatch(head.entry)) {
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

    /** Returns the shard to serve before this shard's first request, or {@code null}. */
    private @Nullable PoolShard elder() {
        return best(waiting.headTag(), YIELD_NANOS);
    }

    /**
     * Finds the other shard whose first request has the lowest tag, below {@code tag}, among those
     * that have waited at least {@code waitNanos}. Skips stalled shards.
     *
     * @return {@code null} if there is none
     */
    private @Nullable PoolShard best(long tag, long waitNanos) {
        PoolShard best = null;
        long lowest = tag;
        long now = nanoTime();
        for (PoolShard other : pool.shards()) {
            long its = other.waiting.headTag();
            if (its < lowest
                    && other != this
                    && now - other.waiting.headSinceNanos() >= waitNanos
                    && !other.isStalled(now)) {
                lowest = its;
                best = other;
            }
        }
        return best;
    }

    private boolean isStalled(long nowNanos) {
        long since = wokenNanos.get();
        return since != 0 && nowNanos - since > STALLED_NANOS;
    }

    /**
     * Makes this shard look for permits on its event loop. It wakes another shard if it leaves any.
     * Any thread.
     *
     * @return false if the embedding program has shut down the event loop, so that its requests no
     *     longer take precedence
     */
    private boolean wake() {
        if (!loop.isShutdown()) {
            // The value is never 0, which means no wake-up. The clock would return the time at
            // which the turn began, perhaps long ago.
            if (!wokenNanos.compareAndSet(0, loop.ticker().nanoTime() | 1)) {
                return true;
            }
            try {
                loop.execute(onWoken);
                return true;
            } catch (RejectedExecutionException e) {
                // The event loop has just ended.
            }
        }
        waiting.hide();
        return false;
    }

    private void onWoken() {
        wokenNanos.set(0);
        serveWaiting();
    }

    private boolean anyPermit() {
        for (PoolShard shard : pool.shards()) {
            if (shard.permits() > 0) {
                return true;
            }
        }
        return false;
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
        underWay.remove(exchange);
        // Not by way of the queue: while it is not empty, other loops would not retry.
        if (pool.pending.get() != 0 || !mayGo(exchange) || !dispatch(exchange)) {
            waitAgain(earlierTicket(exchange));
        }
    }

    @Override
    public @Nullable RetryDenial start(Try next, List<String> tried) {
        assert loop.inEventLoop();
        RetryDenial denial = budget.denial(ExtraAttempt.HEDGE, pool.queued() > 0);
        if (denial != null) {
            return denial;
        }
        Carrier carrier = tryTakeExcept(tried);
        if (carrier == null) {
            PoolShard other = tryAcquireElsewhere(0);
            if (other == null) {
                return RetryDenial.NO_OTHER_WORKER;
            }
            carrier = new Crossing(next, this, other, null, tried, () -> next.onBusy(NO_STREAM));
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
    public FairQueue.Ticket<Exchange> newTicket(Exchange exchange) {
        return newTicketInFront(exchange, nanoTime());
    }

    @Override
    public boolean requeue(Exchange exchange) {
        assert loop.inEventLoop();
        underWay.remove(exchange);
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

    /**
     * Dispatches the exchange again, because its permit of another event loop found no stream, or
     * only streams of the avoided workers.
     *
     * @param next index of the first shard to try
     */
    void onStranded(Exchange exchange, int next) {
        assert loop.inEventLoop();
        if (!exchange.onStranded()) {
            return;
        }
        underWay.remove(exchange);
        List<String> tried = exchange.attempts().tried();
        if (tried.isEmpty() || !dispatchToAnother(exchange, tried, next)) {
            waitAgain(earlierTicket(exchange));
        }
    }

    /** Returns the ticket of a request that has lost nothing but time. Its timeout continues. */
    private FairQueue.Ticket<Exchange> earlierTicket(Exchange exchange) {
        FairQueue.Ticket<Exchange> previous = exchange.place().ticket();
        return previous == null ? newTicketInFront(exchange, exchange.startNanos()) : previous;
    }

    private void waitAgain(FairQueue.Ticket<Exchange> ticket) {
        if (closed != null) {
            ticket.entry.fail(closed);
            return;
        }
        queueAgain(ticket);
        serveWaiting();
    }

    private void queueAgain(FairQueue.Ticket<Exchange> ticket) {
        ticket.entry.onWaiting(ticket);
        memory.add(ticket.entry.waitingBytes());
        ticket.entry.place().share(pool.shares).onQueued();
        onPending(ticket.entry);
        waiting.add(ticket);
        // Lambda has just throttled what was sent directly.
        if (overflow != null && !ticket.entry.attempts().wasDirect()) {
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
        if (underWay.remove(exchange)) {
            if (countsAsService(exchange, outcome)) {
                countService(exchange);
            }
        } else if (!leave(exchange)) {
            tunnels.remove(exchange);
        }
        exchange.place().release();
        exchange.place().releaseShare(pool.shares);
        exchange.report(outcome, failure);
    }

    /**
     * Time spent waiting for a slow or disconnected client says nothing about workers: more workers
     * would not help.
     */
    private static boolean countsAsService(Exchange exchange, Outcome outcome) {
        return switch (outcome) {
            case COMPLETED -> true;
            // What the client has not read was dropped before, and nothing shows that it was slow.
            case CANCELLED -> exchange.isRequestEnded() && !exchange.isAnswered();
            default -> !exchange.isWaitingForClient();
        };
    }

    private void countService(Exchange exchange) {
        completed++;
        long nanos = exchange.attempts().serviceNanos();
        serviceNanos += nanos;
        serviceTimes.record(nanos);
    }

    /**
     * Counts the time until here as the exchange's service time. A tunnel can stay open for hours,
     * which would make the mean service time useless to the capacity controller.
     */
    @Override
    public void onTunnelOpened(Exchange exchange) {
        assert loop.inEventLoop();
        underWay.remove(exchange);
        countService(exchange);
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
        return waiting.size() == 0 && overShare.size() == 0 && underWay.size() == 0;
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
        failAll(underWay, failure);
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
        underWay.forOldest(limit, begun);
        tunnels.forOldest(limit, begun);
        waiting.forOldest(limit, exchange -> snapshots.accept(exchange.snapshot(RequestSnapshot.State.QUEUED)));
        overShare.forOldest(limit, exchange -> snapshots.accept(exchange.snapshot(asideState(exchange))));
    }

    private RequestSnapshot.State asideState(Exchange exchange) {
        ClientSession session = exchange.place().session();
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
        ClientSession session = expired.entry.place().session();
        if (session != null && session.isWaiting()) {
            session.stopWaiting();
            if (!dispatch(expired.entry)) {
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
            FairQueue.Ticket<Exchange> ticket = exchange.place().ticket();
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

    // Worker streams.

    /**
     * Takes a permit for one free stream of this shard. The caller must use it with {@link
     * #takeStream} on the shard's loop, or return it with {@link #onPermitUnused}. Any thread.
     */
    boolean tryAcquire() {
        int seen = permits.get();
        while (seen > 0) {
            if (permits.compareAndSet(seen, seen - 1)) {
                return true;
            }
            seen = permits.get();
        }
        return false;
    }

    /**
     * Takes a free stream of the least busy worker connection, or of the one that got the previous
     * exchange of this turn of the event loop. The caller must hold a permit.
     *
     * @param avoided the workers whose streams must not be taken
     * @return {@code null} if no such stream is free
     */
    @Nullable
    Carrier takeStream(List<String> avoided) {
        assert loop.inEventLoop();
        PooledConnection member = avoided.isEmpty() ? leastOrLast() : leastExcept(avoided);
        return member == null ? null : take(member);
    }

    /**
     * Takes a free stream of this worker connection. The caller must hold a permit.
     *
     * @return {@code null} if it has none any more
     */
    @Nullable
    Carrier takeStreamOf(PooledConnection wanted) {
        assert loop.inEventLoop();
        return wanted.offered > 0 ? take(wanted) : null;
    }

    private Carrier take(PooledConnection member) {
        Carrier stream = member.take(nanoTime());
        // The shard's permit count is already lower: tryAcquire took the permit.
        member.offered--;
        settle(member);
        return stream;
    }

    /**
     * Returns the worker connection for the next exchange. All exchanges that one connection gets
     * within a turn share one write, one packet and one wake-up of the worker. So the connection
     * that got the previous exchange gets the next one, too, until it is {@code batch} exchanges
     * ahead of the least busy connection. Workers that are in doubt come last.
     */
    private @Nullable PooledConnection leastOrLast() {
        PooledConnection least = members.least();
        PooledConnection last = lastTaken;
        // The clock shows one time throughout a turn.
        long now = nanoTime();
        boolean sameTurn = now == lastTakenNanos;
        lastTakenNanos = now;
        if (least != null && least.isDoubted(now)) {
            least = leastDoubted(least, now);
        }
        if (sameTurn
                && least != null
                && last != null
                && last.offered > 0
                && last.rank() < least.rank() + last.batch
                && !last.isDoubted(now)) {
            return last;
        }
        lastTaken = least;
        return least;
    }

    private PooledConnection leastDoubted(PooledConnection least, long nowNanos) {
        PooledConnection sound = members.least(each -> !each.isDoubted(nowNanos));
        PooledConnection other = sound != null ? sound : members.least(each -> !each.hasJustFailed(nowNanos));
        return other == null ? least : other;
    }

    private @Nullable PooledConnection leastExcept(List<String> workerIds) {
        return members.least(member -> !workerIds.contains(member.workerId()));
    }

    /**
     * Returns a permit for which {@link #takeStream} found no stream. Other requests may use it.
     */
    void onPermitUnused() {
        assert loop.inEventLoop();
        permits.incrementAndGet();
        offerIf(true);
    }

    /** Adds a worker stream that has opened. */
    public void onStreamOpened(PooledConnection member, Carrier stream) {
        assert loop.inEventLoop();
        pool.onStreamOpened(nanoTime());
        addFree(member, stream);
    }

    /** Adds a worker stream whose exchange has ended in both directions. */
    public void onStreamFree(PooledConnection member, Carrier stream) {
        assert loop.inEventLoop();
        member.busy--;
        addFree(member, stream);
    }

    /**
     * Offers no more of the connection's streams than the worker has room for. Called while the
     * refused exchange still occupies its stream.
     */
    public void onBusy(PooledConnection member) {
        assert loop.inEventLoop();
        // Known from the start in a fleet, but dispatchers of several fleets can share a worker.
        pool.setShared();
        if (member.onBusy()) {
            cancelTrial(member);
            scheduleTrial(member);
        }
        settle(member);
    }

    /** An attempt on one of the connection's streams was given up for another worker. */
    public void onGivenUp(PooledConnection member) {
        assert loop.inEventLoop();
        member.onGivenUp(nanoTime());
    }

    /** The worker, which was busy, now keeps room for one exchange. */
    public void onRoom(PooledConnection member) {
        assert loop.inEventLoop();
        member.onRoom();
        settle(member);
        offerIf(member.open);
    }

    private void scheduleTrial(PooledConnection member) {
        member.trialTimer = loop.schedule(() -> onTrial(member), member.trialWaitNanos(), TimeUnit.NANOSECONDS);
    }

    private static void cancelTrial(PooledConnection member) {
        if (member.trialTimer != null) {
            member.trialTimer.cancel(false);
            member.trialTimer = null;
        }
    }

    private void onTrial(PooledConnection member) {
        member.trialTimer = null;
        if (member.onTrial()) {
            scheduleTrial(member);
        }
        settle(member);
        offerIf(member.open);
    }

    /**
     * Removes a worker stream that has closed.
     *
     * @param wasFree whether it carried no exchange
     */
    public void onStreamClosed(PooledConnection member, Carrier stream, boolean wasFree) {
        assert loop.inEventLoop();
        pool.streams.decrementAndGet();
        if (wasFree) {
            member.free.remove(stream);
        } else {
            member.busy--;
        }
        settle(member);
        // A worker at its limit can now take one more exchange on a free stream.
        offerIf(member.offered > 0);
    }

    /** Adds a worker connection. This is the first call for it. */
    public void onMember(PooledConnection member) {
        assert loop.inEventLoop();
        member.shard = this;
        member.health = new WorkerHealth(pool.health, tally);
        beginSlowStart(member);
        all.computeIfAbsent(member.workerId(), id -> new LinkedHashSet<>(2)).add(member);
    }

    private void beginSlowStart(PooledConnection member) {
        long nanos = pool.options().slowStart().toNanos();
        if (nanos > 0) {
            member.fresh = true;
            member.slowness = SlowStart.factor(0, pool.warmCpuMicros());
            loop.schedule(() -> endSlowStart(member), nanos, TimeUnit.NANOSECONDS);
        }
    }

    private void endSlowStart(PooledConnection member) {
        member.fresh = false;
        member.slowness = SlowStart.ONE;
        settle(member);
    }

    /**
     * The worker has reported how much processor time it uses for a request.
     *
     * @param micros 0 = not known
     */
    public void onRequestCpu(PooledConnection member, int micros) {
        assert loop.inEventLoop();
        member.onRequestCpu(micros);
        if (micros > 0 && member.fresh) {
            member.slowness = SlowStart.factor(micros, pool.warmCpuMicros());
            settle(member);
        } else if (micros > 0) {
            pool.onWarmCpu(micros);
        }
    }

    /**
     * Removes a worker connection. Its streams are closed later, each with a call of {@link
     * #onStreamClosed}.
     */
    public void onMemberGone(PooledConnection member) {
        setOpen(member, false);
        cancelTrial(member);
        Ejector.cancelProbe(member);
        lastTaken = lastTaken == member ? null : lastTaken;
        all.computeIfPresent(member.workerId(), (id, its) -> its.remove(member) && its.isEmpty() ? null : its);
    }

    /** Sets whether requests may be sent to the member's streams. */
    public void setOpen(PooledConnection member, boolean open) {
        assert loop.inEventLoop();
        if (member.open != open) {
            member.open = open;
            settle(member);
            pool.setOpen(member, open);
            offerIf(open);
        }
    }

    /**
     * Limits the concurrent exchanges of each of the worker's connections on this event loop.
     */
    void limit(String workerId, int exchanges) {
        assert loop.inEventLoop();
        for (PooledConnection member : all.getOrDefault(workerId, Set.of())) {
            member.limit = exchanges;
            settle(member);
        }
        offerIf(true);
    }

    private void onLimit(PooledConnection member) {
        settle(member);
        offerIf(member.open);
    }

    private void addFree(PooledConnection member, Carrier stream) {
        member.free.push(stream);
        settle(member);
        offerIf(member.open);
    }

    /**
     * Updates the shard's permits and the member's rank after the number of exchanges that the
     * member can take has changed.
     */
    private void settle(PooledConnection member) {
        int offers = member.offers();
        if (offers != member.offered) {
            permits.addAndGet(offers - member.offered);
            member.offered = offers;
        }
        if (offers == 0) {
            members.remove(member);
        } else {
            members.put(member, member.rank());
        }
    }

    /** Offers free streams to queued requests if {@code open} is true. */
    private void offerIf(boolean open) {
        if (open && pool.pending() > 0) {
            serveWaiting();
        }
    }

    /** Adds what the worker connections of this event loop do to the sums of their workers. */
    void inspectWorkers(Map<String, WorkerUse> sums) {
        assert loop.inEventLoop();
        for (Set<PooledConnection> connections : all.values()) {
            connections.forEach(each -> sums.merge(each.workerId(), each.use(), WorkerUse::plus));
        }
    }

    // For the capacity controller.

    /**
     * Returns the totals of this event loop. The caller owns the service times in it; the shard
     * starts new ones.
     */
    Demand sample(boolean withWorkers) {
        assert loop.inEventLoop();
        ServiceTimes recent = serviceTimes;
        serviceTimes = new ServiceTimes();
        @Nullable
        List<WorkerDemand> workers = withWorkers
                ? all.values().stream()
                        .flatMap(Set::stream)
                        .map(PooledConnection::sample)
                        .toList()
                : null;
        return new Demand(
                arrived, completed, serviceNanos, underWay.size() + tunnels.size(), waiting.size(), recent, workers);
    }
}
