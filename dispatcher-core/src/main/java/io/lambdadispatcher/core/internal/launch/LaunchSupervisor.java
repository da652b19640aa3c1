package io.lambdadispatcher.core.internal.launch;

import io.lambdadispatcher.core.internal.capacity.CapacityController;
import io.lambdadispatcher.core.internal.capacity.Demand;
import io.lambdadispatcher.core.internal.capacity.FleetView;
import io.lambdadispatcher.core.internal.capacity.Plan;
import io.lambdadispatcher.core.internal.capacity.Rollout;
import io.lambdadispatcher.core.internal.capacity.WorkerFacts;
import io.lambdadispatcher.core.internal.capacity.WorkerReasons;
import io.lambdadispatcher.core.internal.direct.DirectFunction;
import io.lambdadispatcher.core.internal.fleet.BudgetLimits;
import io.lambdadispatcher.core.internal.fleet.FleetFunction;
import io.lambdadispatcher.core.internal.fleet.FleetMember;
import io.lambdadispatcher.core.internal.fleet.SlotState;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.internal.loop.Loops;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.LaunchHistory;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.netty.util.concurrent.EventExecutor;
import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the {@link CapacityController} of one function. It passes the time, samples of the pool and
 * events of workers to the controller, and carries out its plans.
 *
 * <p><i>Threading:</i> any thread. All mutable state is in {@link Confined}, which runs on one
 * executor, except the latest snapshot and history, which any thread can read.
 */
public final class LaunchSupervisor {
    private static final Logger log = LoggerFactory.getLogger(LaunchSupervisor.class);
    private static final long TICK_MILLIS = 1000;

    /**
     * The delay before a burst of requests is evaluated, so that one evaluation counts all of it.
     */
    private static final long GATHER_MILLIS = 20;

    /** The time for which a queue is looked at again and again. */
    private static final long LOOKING_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final FunctionPool pool;
    private final EventExecutor executor;
    private final @Nullable DirectFunction direct;
    private final Confined confined;
    private final AtomicBoolean lookingSoon = new AtomicBoolean();
    private volatile CapacitySnapshot snapshot;
    private volatile LaunchHistory history;

    /**
     * What lets a launched worker in.
     *
     * @param key the key that signs the launch tokens of this function
     * @param tlsFingerprints the fingerprints of the worker port's keys; empty = no TLS
     */
    public record Access(byte[] key, List<String> tlsFingerprints) {}

    /**
     * @param direct serves the requests that overflow; {@code null} = requests do not overflow
     * @param fleet this dispatcher as a member of a fleet, which has the same executor; {@code
     *     null} = it is alone
     */
    public LaunchSupervisor(
            FunctionPool pool,
            WorkerLauncher launcher,
            WorkerRegistry registry,
            EventExecutor executor,
            Access access,
            @Nullable DirectFunction direct,
            @Nullable FleetMember fleet,
            DispatcherObserver observer,
            Incidents incidents) {
        this.pool = pool;
        String function = pool.options().name();
        this.executor = executor;
        this.direct = direct;
        this.snapshot = new CapacitySnapshot(function, 0, 0, 0, 0, 0, 0, 0, null, null, null, null, null);
        this.history = new LaunchHistory(function, true, 0, List.of(), "");
        this.confined = new Confined(
                new GuardedLauncher(launcher, function, executor), registry, access, fleet, observer, incidents);
    }

    /**
     * Restores the history that a previous dispatcher saved at {@code taken}. Call before {@link
     * #start}.
     */
    public void restore(LaunchHistory earlier, Instant taken) {
        history = earlier;
        long agoMillis = Math.max(0, Duration.between(taken, Instant.now()).toMillis());
        executor.execute(() -> confined.restore(earlier, agoMillis));
    }

    /**
     * Starts to launch workers.
     *
     * @param advertisedAddresses the addresses that launched workers dial
     */
    public void start(List<InetSocketAddress> advertisedAddresses) {
        pool.onShortage(this::lookSoon);
        pool.launching(this::snapshot);
        executor.execute(() -> confined.start(advertisedAddresses));
    }

    /** Stops launching for good. */
    public void close() {
        if (!Loops.execute(executor, confined::close)) {
            log.debug("the event loop of a function has ended before the dispatcher");
        }
    }

    /** Sets the kill switch; {@code false} = no launches. */
    public void setLaunching(boolean value) {
        executor.execute(() -> confined.setLaunching(value));
    }

    /**
     * Drains workers now.
     *
     * @return the ids of those that were connected and did not drain before
     */
    CompletableFuture<Set<String>> drain(Collection<String> workerIds) {
        return CompletableFuture.supplyAsync(() -> confined.drainNow(workerIds), executor);
    }

    /**
     * Replaces workers, at most a quarter of all at a time. A worker drains when its replacement is
     * ready.
     *
     * @return the ids of those that this dispatcher owns and that did not drain before
     */
    CompletableFuture<Set<String>> recycle(Collection<String> workerIds) {
        return CompletableFuture.supplyAsync(() -> confined.recycle(workerIds), executor);
    }

    /** Stops a change to another version that has begun. The old version keeps serving. */
    public void stopRollout() {
        executor.execute(() -> confined.steer(Rollout::stop));
    }

    /** Continues a stopped change to another version. */
    public void resumeRollout() {
        executor.execute(() -> confined.steer(Rollout::resume));
    }

    /** Replaces what workers get that are launched from now on. */
    public void setAccess(Access value) {
        confined.requests.setAccess(value);
    }

    /** Replaces the capacity policy and the launch limits. Workers that run are kept. */
    public void setOptions(FunctionOptions value) {
        executor.execute(() -> confined.setOptions(value));
    }

    /** Returns the state after the latest evaluation. */
    public CapacitySnapshot snapshot() {
        return snapshot;
    }

    /** Returns the history for a dispatcher that replaces this one, as of the latest evaluation. */
    public LaunchHistory history() {
        return history;
    }

    /** Returns what is known about all workers besides their connections, by id. */
    CompletableFuture<Map<String, WorkerFacts>> facts() {
        return CompletableFuture.supplyAsync(confined::facts, executor);
    }

    /** Returns whether a worker of the fleet may connect that has no connection here. */
    SlotState slotState(String workerId) {
        return confined.fleet == null ? SlotState.ENDED : confined.fleet.slotState(workerId);
    }

    // Events of workers, from the registry.

    /** Records that a worker has its first connection, and said who it is. */
    void onWorkerDialled(String workerId, WorkerKind kind) {
        executor.execute(() -> confined.onDialled(workerId, kind));
    }

    /**
     * Records that a connection of the worker is ready. Called for each of them, and again after
     * the worker was not ready.
     *
     * @param streams how many its ready connections may open
     * @param version the version of its code; empty if the worker does not tell it
     */
    void onWorkerReady(String workerId, int streams, @Nullable Instant deadline, String version) {
        executor.execute(() -> confined.onReady(workerId, streams, deadline, version));
    }

    /** Records that the worker is connected, but no longer has a ready connection. */
    void onWorkerUnready(String workerId) {
        executor.execute(() -> confined.onUnready(workerId));
    }

    void onWorkerLoad(String workerId, ControlMessage.Load load) {
        executor.execute(() -> confined.onLoad(workerId, load));
    }

    /** Records that the worker drains, by itself or because it was told to. Called once. */
    void onWorkerDraining(String workerId, DrainCode reason) {
        executor.execute(() -> confined.onDraining(workerId, WorkerReasons.ofDrain(reason)));
    }

    /**
     * Records that the worker's last connection has closed.
     *
     * @param clean whether it said goodbye
     */
    void onWorkerGone(String workerId, boolean clean) {
        executor.execute(() -> confined.onDisconnected(workerId, clean));
    }

    /** Schedules one evaluation, however often it is called. Any thread. */
    private void lookSoon() {
        if (!lookingSoon.get() && lookingSoon.compareAndSet(false, true) && !executor.isShuttingDown()) {
            executor.schedule(
                    () -> {
                        lookingSoon.set(false);
                        look(false);
                    },
                    GATHER_MILLIS,
                    TimeUnit.MILLISECONDS);
        }
    }

    private void look(boolean withWorkers) {
        pool.sample(withWorkers).thenAccept(demand -> {
            if (!executor.isShuttingDown()) {
                executor.execute(() -> confined.evaluate(demand));
            }
        });
    }

    /** Owns the controller and carries out its plans. Confined to the executor. */
    private final class Confined implements FleetFunction.Listener, WorkerLaunches.Outcomes {
        private FunctionOptions function = pool.options();
        private final CapacityController controller = new CapacityController(function, new SecureRandom());
        private final @Nullable FleetFunction fleet;
        private final LaunchRequests requests;
        private final WorkerLaunches launches;
        private final VersionFollower versions;
        private final WarmEnvironments environments;
        private final LaunchLog changes;
        private final List<Future<?>> timers = new ArrayList<>();
        private long meteredNanos;
        private boolean queued;
        private long queuedNanos;
        private boolean switchedOff;
        private boolean closed;

        Confined(
                GuardedLauncher launcher,
                WorkerRegistry registry,
                Access access,
                @Nullable FleetMember member,
                DispatcherObserver observer,
                Incidents incidents) {
            changes = new LaunchLog(function.name(), incidents);
            fleet = member == null ? null : member.add(function.name(), BudgetLimits.of(function), this);
            requests = new LaunchRequests(fleet, access);
            launches = new WorkerLaunches(pool, launcher, requests, registry, executor, observer, incidents, this);
            versions = new VersionFollower(function.name(), launcher, executor, controller.rollout()::onNamed);
            environments = new WarmEnvironments(launcher);
        }

        void start(List<InetSocketAddress> addresses) {
            assert executor.inEventLoop();
            requests.setAddresses(addresses);
            timers.add(executor.scheduleAtFixedRate(() -> look(true), 0, TICK_MILLIS, TimeUnit.MILLISECONDS));
        }

        void setOptions(FunctionOptions value) {
            assert executor.inEventLoop();
            if (value.capacity().prewarmedEnvironments() != function.capacity().prewarmedEnvironments()) {
                environments.onOtherCount();
            }
            function = value;
            controller.setOptions(value);
            if (fleet != null) {
                fleet.setLimits(BudgetLimits.of(value));
            }
            look(true);
        }

        Map<String, WorkerFacts> facts() {
            return controller.workers().facts(now());
        }

        Set<String> drainNow(Collection<String> workerIds) {
            Set<String> drained = new HashSet<>();
            for (String id : workerIds) {
                Plan plan = controller.drainNow(now(), id);
                carryOut(plan);
                plan.drains().forEach(drain -> drained.add(drain.workerId()));
            }
            lookSoon();
            return drained;
        }

        Set<String> recycle(Collection<String> workerIds) {
            assert executor.inEventLoop();
            Set<String> recycled =
                    workerIds.stream().filter(controller::recycle).collect(Collectors.toSet());
            pool.openWorkers().setDue(controller.due());
            lookSoon();
            return recycled;
        }

        void restore(LaunchHistory earlier, long agoMillis) {
            assert executor.inEventLoop();
            switchedOff = !earlier.launching();
            controller.restore(now(), earlier, TimeUnit.MILLISECONDS.toNanos(agoMillis));
            permitOverflow();
        }

        void steer(Consumer<Rollout> command) {
            assert executor.inEventLoop();
            command.accept(controller.rollout());
            look(true);
        }

        /** Lets new workers get the launcher's version. In a fleet, one dispatcher asks for it. */
        private void followVersion(long now, boolean early) {
            LaunchLimits limits = function.launching();
            if (!limits.rollout().isOff() && !closed && isFirst()) {
                versions.ask(
                        now,
                        limits.versionCheck().toNanos(),
                        early,
                        controller.rollout().baseVersion());
            }
        }

        /** Returns whether this dispatcher does what one dispatcher does for all. */
        private boolean isFirst() {
            return fleet == null || fleet.isFirst();
        }

        void close() {
            assert executor.inEventLoop();
            closed = true;
            launches.close();
            controller.close();
            endIfOver();
        }

        /**
         * Cancels the timers after the last worker's exit, because the executor may outlive the
         * dispatcher.
         */
        private void endIfOver() {
            if (closed && launches.isEmpty()) {
                timers.forEach(timer -> timer.cancel(false));
            }
        }

        void setLaunching(boolean value) {
            assert executor.inEventLoop();
            if (fleet != null) {
                fleet.setLaunching(value);
            }
            onLaunching(value);
        }

        @Override
        public void onLaunching(boolean value) {
            switchedOff = !value;
            controller.setLaunching(value);
            permitOverflow();
            look(true);
        }

        @Override
        public void onChange() {
            lookSoon();
        }

        @Override
        public void onAdopted(String workerId) {
            log.info("worker {} of function {} is adopted", workerId, function.name());
            controller.workers().onAdopted(workerId);
        }

        @Override
        public void onDisowned(String workerId) {
            log.info("worker {} of function {} has been adopted by another dispatcher", workerId, function.name());
            controller.workers().onDisowned(now(), workerId);
        }

        @Override
        public void onReplaced(String workerId) {
            controller.workers().onExpiring(workerId);
        }

        @Override
        public void onEnded(String workerId) {
            carryOut(controller.onGivenUp(now(), workerId));
        }

        private long now() {
            assert executor.inEventLoop();
            return executor.ticker().nanoTime();
        }

        void onDialled(String workerId, WorkerKind kind) {
            long now = now();
            controller.workers().onDialled(now, workerId, kind);
            publishPause(now);
        }

        void onReady(String workerId, int streams, @Nullable Instant deadline, String version) {
            long now = now();
            long deadlineNanos = deadline == null
                    ? Long.MAX_VALUE
                    : now + Duration.between(Instant.now(), deadline).toNanos();
            carryOut(controller.onReady(now, workerId, streams, deadlineNanos, version));
            lookSoon();
        }

        void onUnready(String workerId) {
            controller.workers().onUnready(now(), workerId);
            lookSoon();
        }

        void onLoad(String workerId, ControlMessage.Load load) {
            carryOut(controller.onLoad(now(), workerId, load.memoryPermille(), load.loopLagMicros()));
            if (load.downstreamShare() > 0) {
                controller.workers().onDownstreamShare(workerId, load.downstreamShare());
            }
        }

        void onDraining(String workerId, String why) {
            controller.workers().onDraining(now(), workerId, why);
            lookSoon();
        }

        void onDisconnected(String workerId, boolean clean) {
            // The launcher reports the exit later. Until then, it may serve other dispatchers.
            boolean exitFollows = launches.contains(workerId);
            if (clean && fleet != null && !exitFollows) {
                fleet.onGoodbye(workerId);
            }
            controller.onDisconnected(now(), workerId, clean);
            lookSoon();
        }

        @Override
        public String endReason(String workerId) {
            return controller.workers().endReason(workerId);
        }

        @Override
        public void onExit(String workerId, WorkerExit exit) {
            long now = now();
            if (fleet != null && exit.cause() == Cause.LOST) {
                fleet.onLost(workerId);
            } else if (fleet != null) {
                fleet.onExit(workerId);
            }
            controller.onExit(now, workerId, exit);
            if (fleet != null) {
                fleet.hold(controller.throttledNanos(now));
            }
            lookSoon();
            endIfOver();
        }

        /**
         * Lets the controller decide, and publishes the new state. Does nothing before {@link
         * #start}, because the addresses that launched workers dial are not known yet.
         */
        void evaluate(Demand demand) {
            if (timers.isEmpty()) {
                return;
            }
            long now = now();
            lookAgain(now, demand.pending());
            meterOverflow();
            FleetView view = fleet == null
                    ? FleetView.ALONE
                    : fleet.view(controller.workers().ids());
            Plan plan = controller.evaluate(now, demand, view);
            carryOut(plan);
            if (fleet != null) {
                fleet.onEvaluated(controller.report(now, plan));
            }
            permitOverflow();
            publishPause(now);
            pool.openWorkers().setDue(controller.due());
            pool.openWorkers().setSurplus(controller.surplus());
            CapacitySnapshot seen = controller.status(now, fleet == null ? null : fleet.obstacle());
            snapshot = seen;
            history = controller.history(now);
            changes.onSnapshot(seen);
            followVersion(now, plan.asksVersion());
            if (isFirst()) {
                environments.keep(
                        now, closed || switchedOff ? 0 : function.capacity().prewarmedEnvironments());
            }
        }

        /**
         * The decision depends on how long requests have been queued, at first on some hundredths
         * of a second.
         */
        private void lookAgain(long now, int pending) {
            if (pending == 0) {
                queued = false;
                return;
            }
            queuedNanos = queued ? queuedNanos : now;
            queued = true;
            if (now - queuedNanos < LOOKING_NANOS) {
                lookSoon();
            }
        }

        private void meterOverflow() {
            if (direct != null) {
                long invokedNanos = direct.invokedNanos();
                controller.onOverflow(invokedNanos - meteredNanos);
                meteredNanos = invokedNanos;
            }
        }

        /**
         * Applies the kill switch and the spending limit to overflowing requests, because their
         * invocations cost money, too.
         */
        private void permitOverflow() {
            if (direct != null) {
                direct.permitOverflow(controller.permitsOverflow());
            }
        }

        /** Tells the pool whether requests may be served soon. */
        private void publishPause(long now) {
            pool.onLaunchPause(controller.pause(now), direct != null && controller.permitsOverflow());
        }

        private void carryOut(Plan plan) {
            launches.carryOut(plan, function);
        }

        @Override
        public void onLaunched(String workerId, Plan.Launch launch) {
            controller.onLaunched(now(), workerId, launch);
        }

        @Override
        public void onNotLaunchedHere(String workerId) {
            // Nothing can end it from here.
            controller.workers().onDisowned(now(), workerId);
        }
    }
}
