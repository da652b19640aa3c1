package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.observe.ServiceTimes;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Decides which workers to drain, and when. Workers near their deadline are replaced before they
 * drain. If there are too many workers, the least busy ones drain.
 */
final class Retirement {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long DEFAULT_START_NANOS = 5 * SECOND;
    private static final int SERVICE_TIMES_KEPT = 20_000;

    /**
     * The time before its deadline at which a worker drains by itself. A worker with a short life
     * uses a tenth of its life instead.
     */
    private static final long WORKERS_OWN_MARGIN_NANOS = 10 * SECOND;

    /** The maximum fraction of the workers that drains per second, even if far fewer are needed. */
    private static final double SCALE_IN_FRACTION = 0.1;
    /** The same beside a base, which carries what they leave. */
    private static final double SCALE_IN_FRACTION_BESIDE_BASE = 0.25;

    private final ServiceTimes serviceTimes = new ServiceTimes();
    private long meanStartNanos = DEFAULT_START_NANOS;
    /** The 99.9th percentile of the service times. */
    private long slowNanos;

    /**
     * Records a worker's startup time.
     *
     * @param startNanos time from launch until the worker was first ready
     */
    void onStarted(long startNanos) {
        meanStartNanos += (startNanos - meanStartNanos) / 4;
    }

    long meanStartNanos() {
        return meanStartNanos;
    }

    void onServiceTimes(ServiceTimes recent) {
        if (serviceTimes.count() > SERVICE_TIMES_KEPT) {
            serviceTimes.halve();
        }
        serviceTimes.addAll(recent);
    }

    void onSecond() {
        slowNanos = serviceTimes.quantileNanos(0.999);
    }

    /** Marks the launched workers that now need a replacement. */
    void markExpiring(long nowNanos, List<WorkerLife> ready) {
        for (WorkerLife worker : ready) {
            if (worker.ours && worker.hasDeadline() && needsReplacement(nowNanos, worker)) {
                worker.expire("deadline");
            }
        }
    }

    private boolean needsReplacement(long nowNanos, WorkerLife worker) {
        long lead = 2 * meanStartNanos + slowNanos + 2 * SECOND;
        long spread = (long) (worker.lot() * worker.lifeNanos() / 10);
        long bounded = Math.min(Math.max(lead, 3 * SECOND), worker.lifeNanos() / 3);
        return worker.leftNanos(nowNanos) <= partingNanos(worker) + bounded + spread;
    }

    /**
     * Returns the time before its deadline at which a worker must drain. It is long enough for
     * nearly every response, and the worker would drain by itself only later.
     */
    private long partingNanos(WorkerLife worker) {
        long own = Math.min(WORKERS_OWN_MARGIN_NANOS, worker.lifeNanos() / 10);
        return Math.min(SECOND + own + slowNanos + slowNanos / 4, worker.lifeNanos() / 4);
    }

    /**
     * Returns the expiring workers that must drain now, the nearest deadline first. A worker drains
     * when its replacement is ready, or when its deadline is near.
     */
    List<WorkerLife> replaced(long nowNanos, List<WorkerLife> ready, int wanted) {
        List<WorkerLife> expiring = new ArrayList<>();
        int fresh = 0;
        for (WorkerLife worker : ready) {
            if (worker.isExpiring()) {
                expiring.add(worker);
            } else {
                fresh += worker.isEjected() ? 0 : 1;
            }
        }
        expiring.sort(Comparator.comparingLong(worker -> worker.leftNanos(nowNanos)));
        int spare = fresh + expiring.size() - wanted;
        List<WorkerLife> replaced = new ArrayList<>();
        for (WorkerLife worker : expiring) {
            if (spare > 0 || worker.leftNanos(nowNanos) <= partingNanos(worker)) {
                replaced.add(worker);
                spare--;
            }
        }
        return replaced;
    }

    /**
     * Returns the workers of which there are too many, in the order in which they drain: the
     * ejected ones first, then the least busy. Starting workers do not count, because they serve no
     * requests yet.
     */
    static List<WorkerLife> surplus(List<WorkerLife> ready, int kept) {
        long serving = ready.stream()
                .filter(worker -> !worker.isEjected() && !worker.isExpiring())
                .count();
        if (serving <= kept && kept > 0) {
            return List.of();
        }
        return ready.stream()
                .filter(worker -> worker.ours)
                .sorted(Comparator.comparing(WorkerLife::isEjected).reversed().thenComparingInt(WorkerLife::busy))
                .limit(kept == 0 ? ready.size() : serving - kept)
                .toList();
    }

    /**
     * Returns the surplus workers that must drain now.
     *
     * <p>A draining worker with requests in flight costs as much as before, until its grace period
     * ends. So busy workers drain only if fewer workers are draining than ready, or if none is to
     * be kept. Otherwise, slow clients and a load that rises and falls could accumulate any number
     * of draining workers.
     */
    static List<WorkerLife> drained(List<WorkerLife> ready, int kept, int draining, boolean besideBase) {
        double fraction = besideBase ? SCALE_IN_FRACTION_BESIDE_BASE : SCALE_IN_FRACTION;
        long ours = ready.stream().filter(worker -> worker.ours).count();
        int room = ready.size() - draining;
        return surplus(ready, kept).stream()
                .limit(Math.max(1, (long) Math.ceil(ours * fraction)))
                .filter(worker -> worker.busy() == 0 || room > 0 || kept == 0)
                .toList();
    }
}
