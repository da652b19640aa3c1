package io.lambdadispatcher.core.internal.capacity;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * Finds workers that fail more often or are slower than the other workers of their function. A
 * problem of all workers is no reason to eject one. At most a third of the workers is ejected, so
 * that a wrong decision cannot stop the function.
 */
final class OutlierDetector {
    private static final int FEWEST_WORKERS = 3;
    private static final double FEWEST_EXCHANGES = 10;
    private static final double FAILURE_RATE = 0.5;
    private static final double TIMES_SLOWER = 4;
    private static final double NANOS_SLOWER = TimeUnit.MILLISECONDS.toNanos(100);

    private OutlierDetector() {}

    /**
     * A worker to eject.
     *
     * @param reason why, in one line
     */
    record Outlier(WorkerLife worker, String reason) {}

    /**
     * @param ready workers that take requests, including ejected ones
     * @return the workers to eject now, worst first
     */
    static List<Outlier> find(Collection<WorkerLife> ready) {
        long ejected = ready.stream().filter(WorkerLife::isEjected).count();
        long room = ready.size() / 3 - ejected;
        if (ready.size() < FEWEST_WORKERS || room <= 0) {
            return List.of();
        }
        List<WorkerLife> heard = ready.stream()
                .filter(worker -> !worker.isEjected() && worker.completed() >= FEWEST_EXCHANGES)
                .toList();
        if (heard.size() < FEWEST_WORKERS) {
            return List.of();
        }
        double typicalNanos = median(
                heard.stream().mapToDouble(WorkerLife::meanNanos).sorted().toArray());
        double typicalFailures = median(
                heard.stream().mapToDouble(WorkerLife::failureRate).sorted().toArray());
        List<WorkerLife> found = new ArrayList<>();
        for (WorkerLife worker : heard) {
            if (fails(worker, typicalFailures) || isSlow(worker, typicalNanos)) {
                found.add(worker);
            }
        }
        found.sort((a, b) -> Double.compare(badness(b, typicalNanos), badness(a, typicalNanos)));
        return found.subList(0, (int) Math.min(room, found.size())).stream()
                .map(worker -> new Outlier(worker, reason(worker, typicalNanos, typicalFailures)))
                .toList();
    }

    private static String reason(WorkerLife worker, double typicalNanos, double typicalFailures) {
        return fails(worker, typicalFailures)
                ? String.format(
                        Locale.ROOT,
                        "%.0f %% of its requests failed, typically %.0f %%",
                        worker.failureRate() * 100,
                        typicalFailures * 100)
                : String.format(
                        Locale.ROOT,
                        "its requests took %.0f ms, typically %.0f ms",
                        worker.meanNanos() / 1e6,
                        typicalNanos / 1e6);
    }

    private static boolean fails(WorkerLife worker, double typical) {
        return worker.failureRate() >= FAILURE_RATE && typical < worker.failureRate() / 2;
    }

    private static boolean isSlow(WorkerLife worker, double typicalNanos) {
        return worker.meanNanos() > typicalNanos * TIMES_SLOWER && worker.meanNanos() - typicalNanos > NANOS_SLOWER;
    }

    private static double badness(WorkerLife worker, double typicalNanos) {
        return worker.failureRate() * 1000 + worker.meanNanos() / Math.max(1, typicalNanos);
    }

    private static double median(double[] sorted) {
        return sorted[(sorted.length - 1) / 2];
    }
}
