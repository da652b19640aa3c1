package io.lambdadispatcher.core.internal.capacity;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Decides which workers must drain, and when. Workers near their deadline are replaced first. If
 * there are too many workers, the least busy drain.
 */
final class Retirement {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long DEFAULT_START_NANOS = 5 * SECOND;
    private static final long MAX_GRACE_NANOS = TimeUnit.MINUTES.toNanos(15);
    private static final int SERVICE_TIMES_KEPT = 20_000;

    /**
     * Time before its deadline at which a worker drains by itself, unless a tenth of its life is
     * shorter.
     */
    private static final long WORKERS_OWN_MARGIN_NANOS = 10 * SECOND;

    /** Maximum share of the workers that drain in one second for scale-in. */
    private static final double SCALE_IN_SHARE = 0.1;

    private final ServiceTimes serviceTimes = new ServiceTimes();
    private long meanStartNanos = DEFAULT_START_NANOS;
    /** The 99.9th percentile of the time in service. */
    private long slowNanos;

    /**
     * A launched worker has become ready for the first time.
     *
     * @param startNanos time since its launch
     */
    void onStarted(long startNanos) {
        meanStartNanos += (startNanos - meanStartNanos) / 4;
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

    /** Marks the workers that need a replacement now. */
    void markExpiring(long nowNanos, List<WorkerLife> ready) {
        for (WorkerLife worker : ready) {
            if (worker.ours && worker.hasDeadline() && needsReplacement(nowNanos, worker)) {
                worker.expire();
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
     * Returns how long before its deadline a worker is drained. It is enough for nearly every
     * response to end, and earlier than the worker drains by itself.
     */
    private long partingNanos(WorkerLife worker) {
        long own = Math.min(WORKERS_OWN_MARGIN_NANOS, worker.lifeNanos() / 10);
        return Math.min(SECOND + own + slowNanos + slowNanos / 4, worker.lifeNanos() / 4);
    }

    /**
     * Returns the expiring workers that must drain now, the oldest first: as soon as others can
     * replace them, and in any case before their deadlines.
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
     * Returns the surplus workers that must drain now, the least busy first. Starting workers do
     * not count, because they replace nobody yet.
     *
     * <p>A worker that drains with requests in flight costs as much as before, until the grace
     * period ends. Therefore, a busy worker drains only if fewer workers drain than are ready, or
     * if none is kept. Otherwise, slow clients and a changing load could give a function any number
     * of workers.
     */
    static List<WorkerLife> surplus(List<WorkerLife> ready, int kept, int draining) {
        List<WorkerLife> ours = ready.stream()
                .filter(worker -> worker.ours)
                .sorted(Comparator.comparingInt(WorkerLife::busy))
                .toList();
        long serving = ready.stream()
                .filter(worker -> !worker.isEjected() && !worker.isExpiring())
                .count();
        double most = Math.max(1, Math.ceil(ours.size() * SCALE_IN_SHARE));
        int leaving = (int) Math.min(Math.min(serving - kept, most), ours.size());
        int room = ready.size() - draining;
        return ours.subList(0, Math.max(0, leaving)).stream()
                .filter(worker -> worker.busy() == 0 || room > 0 || kept == 0)
                .toList();
    }

    /** Returns how long a worker may take to drain. */
    static long graceNanos(long nowNanos, WorkerLife worker) {
        return worker.hasDeadline()
                ? Math.max(0, Math.min(MAX_GRACE_NANOS, worker.leftNanos(nowNanos) - SECOND / 2))
                : MAX_GRACE_NANOS;
    }
}
