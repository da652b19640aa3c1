package io.lambdadispatcher.core.internal.inprocess;

import io.lambdadispatcher.core.internal.capacity.WorkerLives;
import io.lambdadispatcher.core.internal.loop.Loops;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.internal.pool.PoolShard;
import io.lambdadispatcher.core.internal.worker.WorkerEvents;
import io.lambdadispatcher.core.internal.worker.WorkerEvents.Departure;
import io.lambdadispatcher.core.internal.worker.WorkerLink;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.wire.cpu.CpuLimit;
import io.lambdadispatcher.wire.cpu.CpuUse;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.wire.worker.ControlMessage.Hello;
import io.lambdadispatcher.wire.worker.ControlMessage.Load;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.lambdadispatcher.wire.worker.WireLimits;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.net.SocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A base worker without a connection: the handler of the embedding program. Its streams are spread
 * over the event loops, so that most requests need not leave theirs. To the registry, it is a
 * worker that has launched itself and is always ready. Any thread.
 */
public final class InProcessWorker implements WorkerLink {
    private static final SocketAddress ADDRESS = new InProcess();

    /** What is shown in place of the address of a worker of this process. */
    private static final class InProcess extends SocketAddress {
        private static final long serialVersionUID = 1L;

        @Override
        public String toString() {
            return "in process";
        }
    }

    // Random, so that a session of another dispatcher does not find this one's worker.
    private final String workerId =
            WorkerLives.IN_PROCESS_PREFIX + UUID.randomUUID().toString().substring(0, 8);
    private final FunctionPool pool;
    private final int concurrency;
    private final WorkerEvents events;
    private final DispatcherObserver observer;
    private final List<InProcessSlots> slots = new ArrayList<>();
    private final AtomicInteger unopened;
    private final AtomicInteger ungone;
    private final CpuLimit wanted;
    private volatile String goneReason = "it has drained";
    private volatile int limit;
    private volatile @Nullable Future<?> watch;
    private long lookedNanos = System.nanoTime();
    private long cpuNanos = CpuUse.processNanos();

    public InProcessWorker(FunctionPool pool, InProcessBase base, WorkerEvents events, DispatcherObserver observer) {
        this.pool = pool;
        this.concurrency = base.concurrency();
        this.wanted = new CpuLimit(concurrency);
        this.limit = concurrency;
        this.events = events;
        this.observer = observer;
        InProcessCall.Factory calls = base.calls();
        List<PoolShard> shards = pool.shards();
        for (PoolShard shard : shards.subList(0, Math.min(shards.size(), concurrency))) {
            slots.add(new InProcessSlots(shard, workerId, calls, this::onSlotsGone));
        }
        unopened = new AtomicInteger(slots.size());
        ungone = new AtomicInteger(slots.size());
    }

    /** Joins the pool. */
    public void start() {
        String function = pool.options().name();
        LaunchToken token = new LaunchToken(function, workerId, Instant.now().plus(LaunchToken.MAX_LIFE));
        watch = GlobalEventExecutor.INSTANCE.scheduleWithFixedDelay(
                this::look, CpuLimit.DELAY_NANOS, CpuLimit.PERIOD_NANOS, TimeUnit.NANOSECONDS);
        if (events.admit(token, this, false) != null) {
            closeWatch(); // The dispatcher is closing already.
            return;
        }
        pool.openWorkers().setInProcess(workerId);
        int version = WireLimits.PROTOCOL_VERSION;
        String codeVersion = System.getenv().getOrDefault("AWS_LAMBDA_FUNCTION_VERSION", "");
        WorkerKind kind = events.onHello(
                this, new Hello(version, version, concurrency, Hello.NO_DEADLINE, "in process", codeVersion, "", ""));
        observer.onWorkerConnected(function, workerId, ADDRESS, concurrency);
        for (int i = 0; i < slots.size(); i++) {
            InProcessSlots each = slots.get(i);
            int streams = part(concurrency, i);
            onLoop(each, its -> {
                its.open(streams, kind);
                if (unopened.decrementAndGet() == 0) {
                    events.onReadiness(this, true);
                }
            });
        }
    }

    /** Looks at the processor time no longer. */
    public void closeWatch() {
        if (watch != null) {
            watch.cancel(false);
        }
    }

    /** Returns the part of one event loop. */
    private int part(int requests, int loopIndex) {
        return requests / slots.size() + (loopIndex < requests % slots.size() ? 1 : 0);
    }

    /**
     * Sets how many requests the handler takes at once. Those in flight are not affected.
     *
     * @param requests 1 or more
     */
    public synchronized void limit(int requests) {
        wanted.want(requests);
        apply();
    }

    /** Looks at the processor time, and at how late the event loops are. */
    synchronized void look() {
        wanted.onPeriod(System.nanoTime(), CpuUse.nowInTask());
        apply();
        long atNanos = System.nanoTime();
        long usedNanos = CpuUse.processNanos();
        int cpu = (int) ((usedNanos - cpuNanos) * 1000 / Math.max(1, atNanos - lookedNanos));
        lookedNanos = atNanos;
        cpuNanos = usedNanos;
        for (InProcessSlots each : slots) {
            onLoop(each, its -> report(cpu, System.nanoTime() - atNanos));
        }
    }

    private void report(int cpuPermille, long lagNanos) {
        Runtime runtime = Runtime.getRuntime();
        long heap = runtime.totalMemory() - runtime.freeMemory();
        int heapPermille = (int) (heap * 1000 / runtime.maxMemory());
        int lagMicros = (int) Math.min(Integer.MAX_VALUE, TimeUnit.NANOSECONDS.toMicros(lagNanos));
        events.onLoad(this, new Load(cpuPermille, heapPermille, lagMicros, 0));
        observer.onWorkerLoad(pool.options().name(), workerId, cpuPermille, heapPermille, lagMicros);
    }

    private void apply() {
        int now = wanted.value();
        if (now == limit) {
            return;
        }
        limit = now;
        AtomicInteger left = new AtomicInteger(slots.size());
        for (int i = 0; i < slots.size(); i++) {
            int part = part(now, i);
            onLoop(slots.get(i), its -> {
                its.limit(part);
                if (left.decrementAndGet() == 0 && unopened.get() == 0) {
                    events.onReadiness(this, true);
                }
            });
        }
    }

    private static void onLoop(InProcessSlots slots, Consumer<InProcessSlots> action) {
        Loops.execute(slots.shard.loop(), () -> action.accept(slots));
    }

    private void onSlotsGone() {
        if (ungone.decrementAndGet() == 0) {
            closeWatch();
            events.onGone(this, Departure.ENDED, goneReason);
            observer.onWorkerDisconnected(pool.options().name(), workerId, true, goneReason);
        }
    }

    @Override
    public String workerId() {
        return workerId;
    }

    @Override
    public FunctionPool pool() {
        return pool;
    }

    @Override
    public @Nullable Instant deadline() {
        return null;
    }

    @Override
    public int streams() {
        return limit;
    }

    @Override
    public SocketAddress remoteAddress() {
        return ADDRESS;
    }

    /** The dispatcher itself cuts off what is still in flight when the grace is over. */
    @Override
    public void drain(DrainCode reason, Duration grace) {
        slots.forEach(each -> onLoop(each, InProcessSlots::drain));
    }

    @Override
    public void goodbye(String text) {
        goneReason = text;
        slots.forEach(each -> onLoop(each, its -> its.close(text)));
    }

    @Override
    public void dismiss(String text) {
        goodbye(text);
    }

    @Override
    public void tellShare(int connections) {
        // It has never reported a share.
    }

    @Override
    public void onPeersChanged() {
        // It serves this dispatcher only.
    }
}
