package io.lambdadispatcher.server.live;

import io.lambdadispatcher.core.observe.PoolSnapshot;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Samples of each function, one a second, of the last five minutes. Any thread. */
final class History {
    static final int SECONDS = 300;

    /**
     * One second of one function.
     *
     * @param requests requests that ended in this second
     * @param failures those of them that failed
     * @param queued queued requests
     * @param busy worker streams that are not free
     * @param ready workers that are ready
     */
    record Sample(long requests, long failures, int queued, int busy, int ready) {}

    private record Totals(long requests, long failures) {}

    private final Recorder recorder;
    private final Map<String, Deque<Sample>> samples = new HashMap<>();
    private final Map<String, Totals> before = new HashMap<>();

    History(Recorder recorder) {
        this.recorder = recorder;
    }

    /** Takes a sample. Called once a second. */
    synchronized void sample(List<PoolSnapshot> pools) {
        for (PoolSnapshot pool : pools) {
            Recorder.Counts counts = recorder.counts(pool.function());
            Totals now = new Totals(counts.requests.sum(), counts.failures.sum());
            Totals last = before.put(pool.function(), now);
            Deque<Sample> all = samples.computeIfAbsent(pool.function(), name -> new ArrayDeque<>());
            if (last != null) {
                all.addLast(new Sample(
                        now.requests() - last.requests(),
                        now.failures() - last.failures(),
                        pool.queued(),
                        Math.max(0, pool.streams() - pool.free()),
                        pool.readyWorkers()));
            }
            if (all.size() > SECONDS) {
                all.removeFirst();
            }
        }
    }

    /** Returns the samples of a function, the oldest first. */
    synchronized List<Sample> of(String function) {
        Deque<Sample> all = samples.get(function);
        return all == null ? List.of() : new ArrayList<>(all);
    }
}
