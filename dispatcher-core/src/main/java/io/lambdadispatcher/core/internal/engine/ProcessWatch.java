package io.lambdadispatcher.core.internal.engine;

import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.internal.loop.Loops;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.observe.ProcessSnapshot;
import io.lambdadispatcher.wire.cpu.CpuUse;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.SingleThreadEventExecutor;
import io.netty.util.internal.PlatformDependent;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Notices that the dispatcher itself has too little processor time or memory, which looks like slow
 * workers otherwise. Once a second, it reads the state of the process, and each event loop gets an
 * empty task, whose delay is the lag.
 *
 * <p><i>Threading:</i> Netty's thread for delayed tasks, so the watch has no thread of its own. Any
 * thread can call {@link #snapshot} and {@link #close}.
 */
public final class ProcessWatch {
    /** A shortage begins when it lasts for so many seconds in a row. */
    static final int SECONDS = 3;

    /** Lag that clients notice. */
    private static final long LAG_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** A part of a second without processor time, or in garbage collections. */
    private static final double MUCH = 0.25;

    private static final double ALMOST_FULL = 0.9;

    private final Incidents incidents;
    private final List<? extends EventExecutor> loops;
    private final AtomicLong lagNanos = new AtomicLong();
    /** When each event loop was asked that has not answered yet. */
    private final Map<EventExecutor, Long> askedNanos = new ConcurrentHashMap<>();

    private volatile long askedLastNanos;

    /** For how many seconds each resource has been short. */
    private final Map<String, Integer> seconds = new HashMap<>();

    private long lookedNanos = System.nanoTime();

    private volatile ProcessSnapshot snapshot;
    private @Nullable Future<?> timer;

    ProcessWatch(List<? extends EventExecutor> loops, Incidents incidents, ProcessSnapshot first) {
        this.loops = loops;
        this.incidents = incidents;
        this.snapshot = first;
    }

    public static ProcessWatch start(List<? extends EventExecutor> loops, Incidents incidents) {
        ProcessWatch watch = new ProcessWatch(loops, incidents, read(0));
        // At a fixed rate, it would look several times in a row after a stall, and see no shortage.
        watch.timer = GlobalEventExecutor.INSTANCE.scheduleWithFixedDelay(watch::look, 1, 1, TimeUnit.SECONDS);
        return watch;
    }

    public void close() {
        if (timer != null) {
            timer.cancel(false);
        }
    }

    /** Returns the state of the process, about a second old. */
    public ProcessSnapshot snapshot() {
        return snapshot;
    }

    private void look() {
        long now = System.nanoTime();
        onLook(read(ask()), now - lookedNanos);
        lookedNanos = now;
    }

    /**
     * Returns the greatest lag since the last call, and asks the event loops again. An event loop
     * that has not answered is as late as its question is old: one that is late by more than a
     * second would otherwise seem to be in time. If its thread waits for something, it does not
     * lack processor time, and another line of the log names what it waits for.
     */
    long ask() {
        long now = System.nanoTime();
        askedLastNanos = now;
        long lag = lagNanos.getAndSet(0);
        for (EventExecutor loop : loops) {
            Long unanswered = askedNanos.putIfAbsent(loop, now);
            if (unanswered != null) {
                lag = isWaiting(loop) ? lag : Math.max(lag, now - unanswered);
                continue;
            }
            boolean asked = Loops.execute(loop, () -> {
                // What was before the latest question has been reported.
                lagNanos.accumulateAndGet(System.nanoTime() - askedLastNanos, Math::max);
                askedNanos.remove(loop);
            });
            if (!asked) {
                askedNanos.remove(loop);
            }
        }
        return lag;
    }

    private static boolean isWaiting(EventExecutor loop) {
        return loop instanceof SingleThreadEventExecutor its
                && switch (its.threadProperties().state()) {
                    case BLOCKED, WAITING, TIMED_WAITING -> true;
                    case NEW, RUNNABLE, TERMINATED -> false;
                };
    }

    /**
     * Takes the next state.
     *
     * @param nanos the time since the one before: a second, or more after a stall
     */
    void onLook(ProcessSnapshot now, long nanos) {
        ProcessSnapshot before = snapshot;
        snapshot = now;
        double throttled = part(before.throttledNanos(), now.throttledNanos(), nanos);
        double collecting = part(before.gcNanos(), now.gcNanos(), nanos);
        String lag = "event loops are " + TimeUnit.NANOSECONDS.toMillis(now.loopLagNanos()) + " ms late";
        decide(
                "processor time",
                throttled >= MUCH || now.loopLagNanos() >= LAG_NANOS && collecting < MUCH,
                throttled >= MUCH
                        ? lag + ", and the limit of its container stopped its threads for " + percent(throttled)
                                + " of the time"
                        : lag);
        decide(
                "heap",
                now.heap() >= ALMOST_FULL || collecting >= MUCH,
                percent(now.heap()) + " are in use after garbage collection, which took " + percent(collecting)
                        + " of the time");
        decide("direct memory", now.directMemory() >= ALMOST_FULL, percent(now.directMemory()) + " are in use");
    }

    private static double part(long before, long now, long nanos) {
        return before < 0 || now < 0 ? 0 : Math.min(1, (double) (now - before) / nanos);
    }

    private static String percent(double part) {
        return String.format(Locale.ROOT, "%.0f %%", part * 100);
    }

    private void decide(String resource, boolean isShort, String cause) {
        int lasting = isShort ? seconds.merge(resource, 1, Integer::sum) : 0;
        if (lasting == SECONDS) {
            incidents.begin(Incident.Kind.DISPATCHER_SHORT, "", resource, cause);
        } else if (!isShort && seconds.put(resource, 0) != null) {
            incidents.end(Incident.Kind.DISPATCHER_SHORT, "", resource);
        }
    }

    private static ProcessSnapshot read(long lagNanos) {
        long gcMillis = ManagementFactory.getGarbageCollectorMXBeans().stream()
                .mapToLong(GarbageCollectorMXBean::getCollectionTime)
                .filter(millis -> millis > 0)
                .sum();
        long direct = PlatformDependent.usedDirectMemory();
        long most = PlatformDependent.maxDirectMemory();
        return new ProcessSnapshot(
                CpuUse.now().throttledNanos(),
                lagNanos,
                TimeUnit.MILLISECONDS.toNanos(gcMillis),
                (double) usedAfterCollection() / Runtime.getRuntime().maxMemory(),
                direct < 0 || most <= 0 ? 0 : (double) direct / most);
    }

    private static long usedAfterCollection() {
        long used = 0;
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            MemoryUsage after = pool.getType() == MemoryType.HEAP ? pool.getCollectionUsage() : null;
            used += after == null ? 0 : after.getUsed();
        }
        return used;
    }
}
