package io.lambdadispatcher.worker.adapter.runtime;

import io.lambdadispatcher.worker.adapter.runtime.Answer.Failure;
import io.lambdadispatcher.worker.adapter.runtime.Invocation.State;
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
 * The children and what waits for them: first come, first served, up to a number and a sum of
 * bytes. A child takes an invocation when it has asked for one and holds fewer than it may; among
 * several the one with the fewest. Ready when the first has asked; failed when one dies or reports
 * an error before that: then all that waits fails with it, and all that still comes.
 *
 * <p>{@link #start}, {@link #submit}, {@link #drop} and {@link #stop} may be called from any
 * thread; everything else is confined to the loop.
 */
final class RuntimePool {
    /** How late a child that hangs is found out. */
    private static final long SWEEP_MILLIS = 100;

    private static final long SWEEP_NANOS = TimeUnit.MILLISECONDS.toNanos(SWEEP_MILLIS);

    /**
     * Between two sweeps; more than that, and everything has stood still: Lambda freezes the
     * environment between invokes.
     */
    private static final long LONGEST_GAP_NANOS = 10 * SWEEP_NANOS;

    private static final long STOP_SECONDS = 4;

    private static final Logger log = LoggerFactory.getLogger(RuntimePool.class);

    private final RuntimeConfig config;
    /** A quarter of the heap, like the events that wait. */
    private final BodyBudget budget = new BodyBudget(Runtime.getRuntime().maxMemory() / 4);

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

    /** Once. */
    CompletionStage<Void> start() {
        loop.execute(() -> {
            children.forEach(child -> child.start(transport));
            sweptNanos = System.nanoTime();
            // Not at a fixed rate: all sweeps of a freeze would come at once.
            loop.scheduleWithFixedDelay(
                    () -> sweep(System.nanoTime()), SWEEP_MILLIS, SWEEP_MILLIS, TimeUnit.MILLISECONDS);
        });
        return ready;
    }

    void submit(Invocation invocation) {
        loop.execute(() -> onSubmit(invocation));
    }

    /** Nobody wants its answer any more. */
    void drop(Invocation invocation) {
        loop.execute(() -> {
            invocation.drop();
            if (waiting.remove(invocation)) {
                waitingBytes -= invocation.eventBytes;
            }
        });
    }

    /** Ends all children; blocks for a few seconds at most. */
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

    /** The first waits however large it is: that is no more than its child will be given. */
    private boolean canWait(Invocation invocation) {
        return waiting.size() < config.queue()
                && (waiting.isEmpty() || waitingBytes + invocation.eventBytes <= config.queueBytes());
    }

    /** Starts the search behind the last one found, so that equals take turns. */
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

    /** The child may be able to take what waits. */
    void onFree(RuntimeChild child) {
        while (child.canTake() && !waiting.isEmpty()) {
            Iterator<Invocation> first = waiting.iterator();
            Invocation next = first.next();
            first.remove();
            waitingBytes -= next.eventBytes;
            child.give(next);
        }
    }

    /** It did not get there. */
    void giveBack(Invocation invocation) {
        onSubmit(invocation);
    }

    void onReady() {
        ready.complete(null);
    }

    /** @return whether it was the start that failed: nothing is to be tried again */
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
