package io.lambdadispatcher.worker.internal.connect;

import io.lambdadispatcher.wire.cpu.CpuUse;
import io.lambdadispatcher.wire.worker.ControlMessage.Load;
import io.lambdadispatcher.worker.internal.exchange.ServedRequests;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports the load of the process and of this event loop every 5 s, and soon after the worker has
 * another limit of requests or the event loop was late. It reads the process's CPU time
 * through {@link ProcessHandle}, which needs no management classes. Event loop only.
 */
final class LoadMeter {
    private static final Logger log = LoggerFactory.getLogger(LoadMeter.class);
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long REPORT_NANOS = TimeUnit.SECONDS.toNanos(5);
    /** Between two reports. A dispatcher closes a connection with more than ten a second. */
    private static final long LEAST_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    /** A dispatcher gives a worker fewer requests if its event loop is as late as this. */
    private static final long LATE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    private static final long WARN_LAG_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long WARN_EVERY_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final int MOST_PERMILLE = 0xFFFF;

    /** The unit of a process's CPU clock on Linux. The process may have used this much more. */
    private static final long CPU_CLOCK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private static final long CPU_UNKNOWN = 0;

    private final EventExecutor loop;
    private final IntSupplier downstreamShare;
    private final IntSupplier requestLimit;
    private final Consumer<Load> reports;
    private long reportedAtNanos;
    private long reportedCpuNanos;
    private long reportedRequests;
    // Sums in which each report counts half as much as the next one.
    private long recentCpuNanos;
    private long recentRequests;
    private long tickDueNanos;
    private long worstLagNanos;
    private long saidAtNanos;
    private int cpuPermille;
    private int requestCpuMicros;
    private long warnedAtNanos;
    private @Nullable Future<?> ticker;
    private @Nullable Future<?> reporter;
    private @Nullable Future<?> soon;

    /** @param requestLimit the most requests at once on this connection; 0 = it is not limited */
    LoadMeter(EventExecutor loop, IntSupplier downstreamShare, IntSupplier requestLimit, Consumer<Load> reports) {
        this.loop = loop;
        this.downstreamShare = downstreamShare;
        this.requestLimit = requestLimit;
        this.reports = reports;
    }

    void start() {
        reportedAtNanos = now();
        saidAtNanos = reportedAtNanos - LEAST_NANOS;
        warnedAtNanos = reportedAtNanos - WARN_EVERY_NANOS;
        reportedCpuNanos = CpuUse.processNanos();
        reportedRequests = ServedRequests.total();
        schedule();
        if (requestLimit.getAsInt() > 0) {
            report();
        }
        reporter = loop.scheduleAtFixedRate(
                () -> {
                    measure();
                    report();
                },
                REPORT_NANOS,
                REPORT_NANOS,
                TimeUnit.NANOSECONDS);
    }

    void stop() {
        if (ticker != null && reporter != null) {
            ticker.cancel(false);
            reporter.cancel(false);
        }
        if (soon != null) {
            soon.cancel(false);
        }
    }

    /** The dispatcher should know now. Several calls within 200 ms are one report. */
    void reportSoon() {
        if (soon == null) {
            long waitNanos = Math.max(0, saidAtNanos + LEAST_NANOS - now());
            soon = loop.schedule(this::reportNow, waitNanos, TimeUnit.NANOSECONDS);
        }
    }

    private void reportNow() {
        soon = null;
        report();
    }

    /**
     * Measures the CPU time since the last call, or since the start. Reports between two calls
     * repeat what it has found, because the CPU time of a shorter period is not precise.
     */
    private void measure() {
        long atNanos = now();
        long usedNanos = CpuUse.processNanos();
        long cpuNanos = usedNanos - reportedCpuNanos;
        long permille = cpuNanos * 1000 / Math.max(1, atNanos - reportedAtNanos);
        cpuPermille = (int) Math.min(MOST_PERMILLE, Math.max(0, permille));
        requestCpuMicros = requestCpuMicros(cpuNanos, ServedRequests.total());
        reportedAtNanos = atNanos;
        reportedCpuNanos = usedNanos;
    }

    private void report() {
        long lagMicros = TimeUnit.NANOSECONDS.toMicros(worstLagNanos);
        worstLagNanos = 0;
        saidAtNanos = now();
        reports.accept(new Load(
                cpuPermille,
                heapPermille(),
                (int) Math.min(Integer.MAX_VALUE, lagMicros),
                requestCpuMicros,
                downstreamShare.getAsInt(),
                requestLimit.getAsInt()));
    }

    /**
     * Returns the recent CPU time per request, which is too high rather than too low, or 0 if it is
     * not known.
     */
    private int requestCpuMicros(long cpuNanos, long requests) {
        recentCpuNanos = recentCpuNanos / 2 + cpuNanos;
        recentRequests = recentRequests / 2 + requests - reportedRequests;
        reportedRequests = requests;
        if (recentRequests <= 0 || reportedCpuNanos == CPU_UNKNOWN) {
            return 0;
        }
        long nanos = (recentCpuNanos + CPU_CLOCK_NANOS) / recentRequests;
        return (int) Math.min(Integer.MAX_VALUE, 1 + TimeUnit.NANOSECONDS.toMicros(nanos));
    }

    private void schedule() {
        tickDueNanos = now() + TICK_NANOS;
        ticker = loop.schedule(this::onTick, TICK_NANOS, TimeUnit.NANOSECONDS);
    }

    private void onTick() {
        long now = now();
        long lagNanos = now - tickDueNanos;
        worstLagNanos = Math.max(worstLagNanos, lagNanos);
        if (lagNanos >= LATE_NANOS) {
            reportSoon();
        }
        if (lagNanos >= WARN_LAG_NANOS && now - warnedAtNanos >= WARN_EVERY_NANOS) {
            warnedAtNanos = now;
            log.warn(
                    "the event loop was delayed by {} ms, and so were all its requests. Possible causes: a handler that blocks (use BlockingHandler),"
                            + " a garbage collection, or too little CPU",
                    TimeUnit.NANOSECONDS.toMillis(lagNanos));
        }
        schedule();
    }

    private long now() {
        return loop.ticker().nanoTime();
    }

    private static int heapPermille() {
        Runtime runtime = Runtime.getRuntime();
        long used = runtime.totalMemory() - runtime.freeMemory();
        return (int) (used * 1000 / runtime.maxMemory());
    }
}
