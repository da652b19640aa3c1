package io.lambdadispatcher.worker;

import io.lambdadispatcher.wire.cpu.CpuLimit;
import io.lambdadispatcher.wire.cpu.CpuUse;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.http2.BlockedLoopWatch;
import io.lambdadispatcher.wire.http2.NettyRequirement;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.config.WorkerTls;
import io.lambdadispatcher.worker.handler.DownstreamShareListener;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Lifecycle;
import io.lambdadispatcher.worker.internal.connect.ClientTls;
import io.lambdadispatcher.worker.internal.connect.Dialler;
import io.lambdadispatcher.worker.internal.connect.Dispatchers;
import io.lambdadispatcher.worker.internal.connect.DownstreamShare;
import io.lambdadispatcher.worker.internal.connect.RequestLimit;
import io.lambdadispatcher.worker.internal.connect.Tally;
import io.lambdadispatcher.worker.internal.exchange.Concurrency;
import io.lambdadispatcher.worker.internal.exchange.Lifecycles;
import io.lambdadispatcher.worker.internal.transport.ClientTransport;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoEventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.WeakHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One worker. It dials the dispatcher, serves requests with a {@link Handler}, and ends when
 * <ul>
 *   <li>it is drained by {@link #drain}, by {@link #close}, by the dispatcher, near its deadline,
 *       or after its idle timeout,
 *   <li>no dispatcher admits it, or
 *   <li>it has been without any connection for too long.
 * </ul>
 *
 * <p><b>Threading.</b> Any thread. The threads of a worker are not daemons, so the JVM stays alive
 * until the worker has ended.
 */
public final class Worker implements AutoCloseable {
    private static final int MOST_LOOPS = 2;

    /**
     * A dispatcher keeps as much between the grace that it grants and the worker's deadline, except
     * if it shuts down.
     */
    private static final Duration DEADLINE_MARGIN = Duration.ofMillis(500);

    /** A quarter of the time that is left, however long that is. */
    private static final Duration QUARTER_MARGIN = Duration.ofNanos(Long.MAX_VALUE);

    /** A worker that is not started within this time was probably forgotten. */
    private static final long UNSTARTED_SECONDS = 10;

    private static final Logger log = LoggerFactory.getLogger(Worker.class);

    /** Configurations with a worker id that a worker was started with. */
    private static final Set<WorkerConfig> STARTED =
            Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    private final WorkerConfig config;
    private final Handler handler;
    private final AtomicBoolean started = new AtomicBoolean();
    private final CompletableFuture<Worker> ready = new CompletableFuture<>();
    private final CompletableFuture<WorkerSummary> done = new CompletableFuture<>();
    private final EventLoopGroup loops;
    private final boolean ownsLoops;
    private final EventLoop home;
    private final DownstreamShare share;
    private final RequestLimit limit;
    private final Dispatchers dispatchers;
    private @Nullable BlockedLoopWatch blockedLoops;
    private final long startedNanos;
    private final long deadlineNanos;
    private final List<Future<?>> timers = new ArrayList<>();

    private long readyNanos;
    private long idleSinceNanos;
    private long startedWhenIdle = -1;
    private boolean draining;
    private long shutdownNanos;
    private CompletionStage<?> told = CompletableFuture.completedFuture(null);
    private boolean refused;
    private volatile String reason = "";

    /**
     * Prepares threads and TLS, but dials nothing before {@link #start}. The deadline counts from
     * here.
     *
     * @param config one configuration can be used for several workers, unless it has a worker id
     * @throws IllegalArgumentException if TLS cannot be set up as configured
     * @throws IllegalStateException without Netty 4.2.16 or a newer 4.2
     */
    public Worker(WorkerConfig config, Handler handler) {
        this(config, handler, null);
        announce();
    }

    /**
     * Prepares a worker on event loops of the caller, which several workers can share. The caller
     * shuts them down after all of these workers have ended.
     *
     * @throws IllegalArgumentException if TLS cannot be set up as configured, or if the event loops
     *     are not for epoll or NIO
     * @throws IllegalStateException without Netty 4.2.16 or a newer 4.2
     */
    public static Worker onLoops(WorkerConfig config, Handler handler, IoEventLoopGroup loops) {
        Worker worker = new Worker(config, handler, Objects.requireNonNull(loops, "loops"));
        worker.announce();
        return worker;
    }

    /**
     * Does not announce the worker's concurrency to the connection pools of the handler.
     *
     * @param shared event loops of the caller; {@code null} = the worker has its own
     */
    Worker(WorkerConfig given, Handler handler, @Nullable IoEventLoopGroup shared) {
        NettyRequirement.verify();
        this.config = ofOneWorker(Objects.requireNonNull(given, "config"));
        this.handler = Objects.requireNonNull(handler, "handler");
        this.startedNanos = System.nanoTime();
        this.deadlineNanos = config.deadline().isZero()
                ? 0
                : startedNanos + config.deadline().toNanos();
        WorkerTls tls = config.tls();
        ClientTransport transport = shared == null ? ClientTransport.best() : ClientTransport.of(shared);
        Dialler dialler = new Dialler(transport, tls == null ? null : ClientTls.of(tls));
        this.ownsLoops = shared == null;
        this.loops = shared == null ? dialler.newLoops(loopsFor(config)) : shared;
        this.home = loops.next();
        this.share = new DownstreamShare(handler, this::onHome);
        this.limit = new RequestLimit(config.connections(), config.streams());
        this.dispatchers =
                new Dispatchers(config, handler, dialler, loops, home, share, limit, deadlineNanos, new Events());
        log.debug("worker {} of {} on {}", workerId(), config.function(), dialler.transportName());
        CompletableFuture.delayedExecutor(UNSTARTED_SECONDS, TimeUnit.SECONDS).execute(this::lookForStart);
    }

    private static WorkerConfig ofOneWorker(WorkerConfig config) {
        return config.workerId() == null
                ? config.toBuilder().workerId("self-" + UUID.randomUUID()).build()
                : config;
    }

    private String workerId() {
        return Objects.requireNonNull(config.workerId());
    }

    private void lookForStart() {
        if (!started.get() && !done.isDone()) {
            log.warn(
                    "worker {} of function {} was created {} s ago, but start() was not called, so it does not connect",
                    workerId(),
                    config.function(),
                    UNSTARTED_SECONDS);
        }
    }

    private void announce() {
        Concurrency.announce(config.connections() * config.streams());
    }

    private static int loopsFor(WorkerConfig config) {
        return Math.min(
                config.connections(), Math.min(MOST_LOOPS, Runtime.getRuntime().availableProcessors()));
    }

    /**
     * Starts the handler if it is a {@link Lifecycle}, then dials in. The worker does not stop the
     * handler when it ends.
     *
     * @throws IllegalStateException if it was called before, if the worker has ended, or if another
     *     worker was started with the same configuration and that has a worker id
     */
    public Worker start() {
        if (!started.compareAndSet(false, true)) {
            throw new IllegalStateException("start() was called twice, expected one call for each worker");
        }
        if (home.isShuttingDown()) {
            throw new IllegalStateException("start() was called on a worker that has exited. Create a new worker");
        }
        if (!STARTED.add(config)) {
            // A dispatcher takes two workers with one id for one worker, or rejects the second.
            throw new IllegalStateException("another worker was started with this WorkerConfig, whose worker id is "
                    + workerId() + ". Expected a WorkerConfig without a worker id, or one for each worker");
        }
        if (ownsLoops) {
            blockedLoops = BlockedLoopWatch.start(loops, log::warn);
        }
        onHome(this::watchDeadline);
        Lifecycles.start(handler).whenComplete((nothing, failure) -> onHome(() -> onHandlerStarted(failure)));
        return this;
    }

    /**
     * Completes when a dispatcher counts the worker as ready, so that it sends requests to the
     * first connection. Fails if the worker ends before, or has ended. Does not complete before
     * {@link #start}.
     */
    public CompletionStage<Worker> ready() {
        return done.isDone() && !ready.isCompletedExceptionally()
                ? CompletableFuture.failedFuture(new IllegalStateException("the worker has exited: " + reason))
                : ready.copy();
    }

    /**
     * Completes when all connections are closed, the threads are ending, and {@link
     * Lifecycle#onDrain} and {@link DownstreamShareListener} have completed. Never fails.
     */
    public CompletionStage<WorkerSummary> done() {
        return done.copy();
    }

    /**
     * Sets how many requests the worker takes at once from now on, because its application knows
     * better than the configured streams when it is saturated: by the threads of its server, or by
     * a slow dependency. Dispatchers learn of it within a fraction of a second, send what exceeds
     * it to other workers, and launch some if there are none. Requests in flight are not affected.
     * If the processor time does not suffice, the worker takes fewer.
     *
     * @param requests 1 or more. {@link WorkerConfig#connections} × {@link WorkerConfig#streams} or
     *     more = not limited, as before the first call. A worker with several connections takes at
     *     least one on each
     */
    public void limit(int requests) {
        limit.set(requests);
    }

    /**
     * Takes no more requests, finishes those in flight, and ends the worker. If it drains already,
     * because a dispatcher has asked for it, requests have no more than {@link
     * WorkerConfig#drainGrace} from now on. Further calls have no effect.
     */
    public void drain(DrainReason why) {
        onHome(() -> {
            if (draining) {
                dispatchers.drain(why, ownGrace());
            } else {
                onDrain(why);
            }
        });
    }

    /**
     * Drains the worker and waits until it has ended: at most {@link WorkerConfig#drainGrace} and a
     * few seconds, if {@link Lifecycle#onDrain} completes in time.
     *
     * @throws IllegalStateException on an event loop of the worker, which would wait for itself
     */
    @Override
    public void close() {
        for (EventExecutor loop : loops) {
            if (loop.inEventLoop()) {
                throw new IllegalStateException(
                        "close() called on " + Thread.currentThread() + ", an event loop; call drain() there");
            }
        }
        drain(DrainReason.REQUESTED);
        done.join();
    }

    private void onHome(Runnable action) {
        if (!home.isShuttingDown()) {
            home.execute(action);
        }
    }

    private void onHandlerStarted(@Nullable Throwable failure) {
        if (draining) {
            return;
        }
        if (failure == null) {
            share.start(config.downstreamShare())
                    .whenComplete((nothing, refusal) -> onHome(() -> onShareTaken(refusal)));
            return;
        }
        cannotStart(failure);
    }

    private void onShareTaken(@Nullable Throwable failure) {
        if (draining) {
            return;
        }
        if (failure == null) {
            onStart();
        } else {
            cannotStart(failure);
        }
    }

    private void cannotStart(Throwable failure) {
        draining = true;
        because("the handler cannot start: " + PrintableText.ofFailure(failure));
        log.error("worker {} exits: {}", workerId(), reason);
        log.debug("the handler cannot start", failure);
        finish();
    }

    private void onStart() {
        idleSinceNanos = System.nanoTime();
        dispatchers.start();
        watch(config.idleTimeout(), this::checkIdle);
        watch(config.loneTimeout(), this::checkAlone);
        // Launched workers may share their processors: if one took fewer requests, the dispatcher
        // would launch another one, which makes the others slower.
        if (deadlineNanos == 0 && config.credential().outlivesDispatcher()) {
            timers.add(home.scheduleWithFixedDelay(
                    () -> limit.onCpu(System.nanoTime(), CpuUse.nowInTask()),
                    CpuLimit.DELAY_NANOS,
                    CpuLimit.PERIOD_NANOS,
                    TimeUnit.NANOSECONDS));
        }
    }

    /** Also while the handler starts, because a launch must not last until Lambda's timeout. */
    private void watchDeadline() {
        if (deadlineNanos != 0 && !draining) {
            long nanos = startedNanos + config.untilDrain().toNanos() - System.nanoTime();
            timers.add(home.schedule(() -> onDrain(DrainReason.DEADLINE), nanos, TimeUnit.NANOSECONDS));
        }
    }

    /** Looks often enough for the timeout to be kept within an eighth. */
    private void watch(Duration timeout, Runnable check) {
        if (!timeout.isZero()) {
            long periodNanos = Math.max(TimeUnit.MILLISECONDS.toNanos(5), timeout.toNanos() / 8);
            timers.add(home.scheduleAtFixedRate(check, periodNanos, periodNanos, TimeUnit.NANOSECONDS));
        }
    }

    private void checkIdle() {
        long started = dispatchers.sum(Tally::started);
        boolean unchanged = started == startedWhenIdle && dispatchers.sum(Tally::ended) == started;
        if (!unchanged) {
            startedWhenIdle = started;
            idleSinceNanos = System.nanoTime();
        } else if (System.nanoTime() - idleSinceNanos >= config.idleTimeout().toNanos()) {
            onDrain(DrainReason.IDLE);
        }
    }

    private void checkAlone() {
        if (dispatchers.aloneNanos() >= config.loneTimeout().toNanos()) {
            because("no connection to a dispatcher for " + PrintableText.of(config.loneTimeout()));
            onDrain(DrainReason.REQUESTED);
        }
    }

    private void onDrain(DrainReason why) {
        onDrain(why, ownGrace());
    }

    private Duration ownGrace() {
        return shorter(config.drainGrace(), beforeDeadline(QUARTER_MARGIN));
    }

    private void onDrain(DrainReason why, Duration asked) {
        if (draining) {
            return;
        }
        draining = true;
        because(PrintableText.of(why));
        log.info("worker {} is draining: {}", workerId(), reason);
        Duration grace = shorter(asked, beforeDeadline(DEADLINE_MARGIN));
        if (dispatchers.isRunning()) {
            told = Lifecycles.drain(handler, why, grace);
            dispatchers.drain(why, grace);
        } else {
            finish();
        }
    }

    /**
     * The worker stays, but what came by that dispatcher must end. Each connection to it says so;
     * the handler hears of it once. A connection that was dialled later leads to another
     * dispatcher.
     */
    private void onShutdown(Duration grace, long dialledNanos) {
        if (!draining && (shutdownNanos == 0 || dialledNanos - shutdownNanos > 0)) {
            shutdownNanos = System.nanoTime();
            told = Lifecycles.drain(handler, DrainReason.SHUTDOWN, shorter(grace, beforeDeadline(DEADLINE_MARGIN)));
        }
    }

    /** Returns the time to the deadline, less a margin of at most a quarter for the goodbye. */
    private Duration beforeDeadline(Duration mostMargin) {
        if (deadlineNanos == 0) {
            return Duration.ofNanos(Long.MAX_VALUE);
        }
        Duration left = Duration.ofNanos(Math.max(0, deadlineNanos - System.nanoTime()));
        return left.minus(shorter(mostMargin, left.dividedBy(4)));
    }

    private static Duration shorter(Duration a, Duration b) {
        return a.compareTo(b) < 0 ? a : b;
    }

    private void because(String why) {
        if (reason.isEmpty()) {
            reason = why;
        }
    }

    private void finish() {
        WorkerSummary summary = summary();
        log.info(
                "worker {} of function {} has exited after {} requests, of which {} failed: {}",
                workerId(),
                config.function(),
                summary.requests(),
                summary.failures(),
                reason);
        if (readyNanos == 0) {
            ready.completeExceptionally(new IllegalStateException("the worker exited before it was ready: " + reason));
        }
        // On shared event loops, they would run after the worker has ended and keep it in memory.
        timers.forEach(timer -> timer.cancel(false));
        if (ownsLoops) {
            loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
        if (blockedLoops != null) {
            blockedLoops.close();
        }
        CompletionStage<?> closed = share.end();
        told.whenComplete((nothing, failure) -> closed.whenComplete((none, never) -> done.complete(summary)));
    }

    private WorkerSummary summary() {
        long now = System.nanoTime();
        return new WorkerSummary(
                config.function(),
                workerId(),
                dispatchers.sum(Tally::started),
                dispatchers.sum(Tally::failed),
                dispatchers.sum(Tally::requestBytes),
                dispatchers.sum(Tally::responseBytes),
                dispatchers.sum(Tally::connections),
                readyNanos == 0 ? -1 : TimeUnit.NANOSECONDS.toMillis(readyNanos - startedNanos),
                TimeUnit.NANOSECONDS.toMillis(now - startedNanos),
                refused,
                reason);
    }

    /** What the dispatchers say, on the home event loop. */
    private final class Events implements Dispatchers.Owner {
        @Override
        public void onReady() {
            if (readyNanos == 0 && !draining) {
                readyNanos = System.nanoTime();
                log.info("worker {} ready after {} ms", workerId(), (readyNanos - startedNanos) / 1_000_000);
                ready.complete(Worker.this);
            }
        }

        @Override
        public void onDrain(DrainReason why, Duration grace) {
            Worker.this.onDrain(why, grace);
        }

        @Override
        public void onShutdown(Duration grace, long dialledNanos) {
            Worker.this.onShutdown(grace, dialledNanos);
        }

        @Override
        public void onEnded(boolean wasRefused, String detail) {
            refused = wasRefused;
            because(detail);
            finish();
        }
    }
}
