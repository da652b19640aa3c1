package io.lambdadispatcher.worker.adapter.runtime;

import io.lambdadispatcher.worker.adapter.runtime.Answer.Failure;
import io.lambdadispatcher.worker.adapter.runtime.Invocation.State;
import io.lambdadispatcher.worker.internal.exchange.BodyBudget;
import io.lambdadispatcher.worker.internal.transport.ClientTransport;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The child processes and the queue of invocations for them. The queue is served in order of
 * arrival. It is limited to a number of invocations and to a sum of bytes.
 *
 * <p>A child can take an invocation if it has asked for one and holds fewer than it may. If several
 * children can, the one that holds the fewest takes it. The pool is ready when the first child has
 * asked. If a child exits or reports an error before that, the start has failed: all queued and all
 * later invocations fail too.
 *
 * <p><b>Threading.</b> {@link #start}, {@link #submit}, {@link #drop} and {@link #stop} may be
 * called from any thread. Everything else is confined to the loop.
 */
final class RuntimePool {
    /** The maximum delay until a child that hangs is detected. */
    private static final long SWEEP_MILLIS = 100;

    private static final long SWEEP_NANOS = TimeUnit.MILLISECONDS.toNanos(SWEEP_MILLIS);

    /**
     * The maximum time between two sweeps. A longer time means that the process has stood still,
     * because Lambda freezes the environment between invocations.
     */
    private static final long LONGEST_GAP_NANOS = 10 * SWEEP_NANOS;

    private static final long STOP_SECONDS = 4;

    private static final Logger log = LoggerFactory.getLogger(RuntimePool.class);

    private final RuntimeConfig config;
    /** A quarter of the heap. The queued events may take another quarter by default. */
    private final BodyBudget budget = BodyBudget.ofQuarterOfHeap();

    private final ClientTransport transport = ClientTransport.best();
    private final MultiThreadIoEventLoopGroup group;
    private final EventLoop loop;
    private final List<RuntimeChild> children = new ArrayList<>();
    private final Set<Invocation> waiting = new LinkedHashSet<>();
    private final CompletableFuture<Void> ready = new CompletableFuture<>();
    private @Nullable String startFailure;
    private long waitingBytes;
    private long sweptNanos;
    private int turn;

    RuntimePool(RuntimeConfig config) {
        this.config = config;
        this.group = new MultiThreadIoEventLoopGroup(
                1, new DefaultThreadFactory("runtime-api", true), transport.ioHandlers());
        this.loop = group.next();
        for (int i = 1; i <= config.children(); i++) {
            children.add(new RuntimeChild(this, config, "runtime-" + i));
        }
    }

    BodyBudget budget() {
        return budget;
    }

    /** Opens the ports and starts the children. May be called once. */
    CompletionStage<Void> start() {
        loop.execute(() -> {
            children.forEach(child -> child.start(transport));
            sweptNanos = System.nanoTime();
            // Not at a fixed rate, because after a freeze all missed sweeps would run in a row.
            loop.scheduleWithFixedDelay(
                    () -> sweep(System.nanoTime()), SWEEP_MILLIS, SWEEP_MILLIS, TimeUnit.MILLISECONDS);
        });
        return ready;
    }

    void submit(Invocation invocation) {
        loop.execute(() -> onSubmit(invocation));
    }

    /** Drops an invocation whose response is no longer needed. */
    void drop(Invocation invocation) {
        loop.execute(() -> {
            invocation.drop();
            if (waiting.remove(invocation)) {
                waitingBytes -= invocation.eventBytes;
            }
        });
    }

    /** Ends all children. Blocks for at most 4 s. */
    void stop() {
        List<CompletableFuture<Void>> ends = new ArrayList<>();
        children.forEach(child -> ends.add(child.stop().toCompletableFuture()));
        try {
            CompletableFuture.allOf(ends.toArray(CompletableFuture[]::new)).get(STOP_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Exception e) {
            log.warn("not all runtime processes have exited within {} s", STOP_SECONDS);
        }
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }

    EventLoop loop() {
        return loop;
    }

    /**
     * Returns the time of the last sweep. Times that begin now count from it: the next sweep adds a
     * freeze to all of them, also to those that begin between the freeze and that sweep.
     */
    long sweptNanos() {
        return sweptNanos;
    }

    private void onSubmit(Invocation invocation) {
        if (!invocation.isWanted()) {
            return;
        }
        if (startFailure != null) {
            invocation.endFailed(Failure.CHILD_FAILED, startFailure);
            return;
        }
        RuntimeChild child = freest();
        if (child != null) {
            child.give(invocation);
        } else if (canWait(invocation)) {
            invocation.state = State.WAITING;
            waiting.add(invocation);
            waitingBytes += invocation.eventBytes;
        } else {
            invocation.endFailed(
                    Failure.REFUSED,
                    "all runtime processes are busy, and " + waiting.size() + " requests of " + waitingBytes
                            + " bytes are queued");
        }
    }

    /**
     * Returns whether the invocation can be queued. An empty queue accepts an event of any size,
     * because a free child would accept it too.
     */
    private boolean canWait(Invocation invocation) {
        return waiting.size() < config.queue()
                && (waiting.isEmpty() || waitingBytes + invocation.eventBytes <= config.queueBytes());
    }

    /**
     * Returns the child with the fewest invocations. Each search starts one child further, so that
     * equally busy children take turns.
     */
    private @Nullable RuntimeChild freest() {
        RuntimeChild best = null;
        int size = children.size();
        for (int i = 0; i < size; i++) {
            RuntimeChild child = children.get((turn + i) % size);
            if (child.canTake() && (best == null || child.held() < best.held())) {
                best = child;
            }
        }
        turn = (turn + 1) % size;
        return best;
    }

    /** Gives queued invocations to a child that may be able to take them. */
    void onFree(RuntimeChild child) {
        while (child.canTake() && !waiting.isEmpty()) {
            Iterator<Invocation> first = waiting.iterator();
            Invocation next = first.next();
            first.remove();
            waitingBytes -= next.eventBytes;
            child.give(next);
        }
    }

    /** Submits again an invocation that did not reach its child. */
    void giveBack(Invocation invocation) {
        onSubmit(invocation);
    }

    void onReady() {
        ready.complete(null);
    }

    /** @return whether the pool was still starting. Nothing is retried then */
    boolean onStartFailed(String why) {
        boolean starting = ready.completeExceptionally(new IllegalStateException(why));
        if (starting) {
            startFailure = why;
            children.forEach(RuntimeChild::stop);
            failWaiting(why);
        }
        return starting;
    }

    private void failWaiting(String why) {
        List<Invocation> all = List.copyOf(waiting);
        waiting.clear();
        waitingBytes = 0;
        all.forEach(invocation -> invocation.endFailed(Failure.CHILD_FAILED, why));
    }

    void sweep(long now) {
        long gapNanos = now - sweptNanos;
        sweptNanos = now;
        if (gapNanos > LONGEST_GAP_NANOS) {
            children.forEach(child -> child.onFrozen(gapNanos - SWEEP_NANOS));
        }
        children.forEach(child -> child.sweep(now));
        waiting.removeIf(invocation -> {
            boolean overdue = invocation.head.isOverdue(now);
            if (overdue) {
                waitingBytes -= invocation.eventBytes;
                invocation.endFailed(Failure.TIMED_OUT, "no runtime process was free before the deadline");
            }
            return overdue;
        });
    }
}
