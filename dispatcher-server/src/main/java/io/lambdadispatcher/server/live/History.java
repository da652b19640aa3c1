package io.lambdadispatcher.server.live;

import io.lambdadispatcher.core.observe.PoolSnapshot;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Samples of each function, one a second, of the last five minutes. Any thread. */
final class History {
    static final int SECONDS = 300;
    /** A quantile of fewer seconds would have too few requests. */
    static final int SECONDS_OF_LATENCIES = 5;

    /**
     * One second of one function.
     *
     * @param requests requests that ended in this second
     * @param failures those of them that the dispatcher has failed
     * @param queued queued requests
     * @param busy worker streams that are not free
     * @param ready workers that are ready
     * @param readyBase those of {@code ready} that no dispatcher has launched
     * @param clientErrors responses of the function with a status of 400 to 499
     * @param serverErrors responses of the function with a status of 500 to 599
     */
    record Sample(
            long requests,
            long failures,
            int queued,
            int busy,
            int ready,
            int readyBase,
            long clientErrors,
            long serverErrors) {}

    /** Median and 99th percentile in microseconds; -1 if there was no request. */
    record Quantiles(long median, long p99) {
        static Quantiles of(long[] before, long[] now) {
            return new Quantiles(
                    LatencyCounts.quantileMicros(before, now, 0.5), LatencyCounts.quantileMicros(before, now, 0.99));
        }
    }

    /** The latencies of five seconds of one function. */
    record Latencies(Quantiles queue, Quantiles worker, Quantiles firstByte) {}

    private record Totals(long requests, long failures, long clientErrors, long serverErrors) {
        static Totals of(Recorder.Counts counts) {
            return new Totals(counts.requests(), counts.failures.sum(), counts.responses(4), counts.responses(5));
        }
    }

    /** What has been recorded of the durations of one function. */
    private record Durations(long requests, long[] queue, long[] worker, long[] firstByte) {
        static Durations of(Recorder.Counts counts) {
            return new Durations(counts.requests(), counts.queue.sums(), counts.worker.sums(), counts.firstByte.sums());
        }

        /** Requests that were hardly queued are not in {@code queue}. */
        private long[] allQueue() {
            long[] all = queue.clone();
            long queued = 0;
            for (long each : queue) {
                queued += each;
            }
            all[0] += requests - queued;
            return all;
        }

        Latencies since(Durations before) {
            return new Latencies(
                    Quantiles.of(before.allQueue(), allQueue()),
                    Quantiles.of(before.worker, worker),
                    Quantiles.of(before.firstByte, firstByte));
        }
    }

    /** The samples of one function. */
    private static final class Samples {
        final Deque<Sample> seconds = new ArrayDeque<>();
        final Deque<Latencies> latencies = new ArrayDeque<>();

        @Nullable
        Totals totals;

        @Nullable
        Durations durations;

        int secondsOfDurations;
    }

    private final Recorder recorder;
    private final Map<String, Samples> functions = new HashMap<>();

    History(Recorder recorder) {
        this.recorder = recorder;
    }

    /** Takes a sample. Called once a second. */
    synchronized void sample(List<PoolSnapshot> pools) {
        for (PoolSnapshot pool : pools) {
            Recorder.Counts counts = recorder.counts(pool.function());
            Samples its = functions.computeIfAbsent(pool.function(), name -> new Samples());
            sampleSecond(its, pool, Totals.of(counts));
            if (its.durations == null || ++its.secondsOfDurations == SECONDS_OF_LATENCIES) {
                sampleLatencies(its, Durations.of(counts));
            }
        }
    }

    private static void sampleSecond(Samples its, PoolSnapshot pool, Totals now) {
        Totals last = its.totals;
        its.totals = now;
        if (last == null) {
            return;
        }
        add(
                its.seconds,
                new Sample(
                        now.requests() - last.requests(),
                        now.failures() - last.failures(),
                        pool.queued(),
                        Math.max(0, pool.streams() - pool.free()),
                        pool.readyWorkers(),
                        pool.readyBaseWorkers(),
                        now.clientErrors() - last.clientErrors(),
                        now.serverErrors() - last.serverErrors()),
                SECONDS);
    }

    private static void sampleLatencies(Samples its, Durations now) {
        Durations last = its.durations;
        its.durations = now;
        its.secondsOfDurations = 0;
        if (last != null) {
            add(its.latencies, now.since(last), SECONDS / SECONDS_OF_LATENCIES);
        }
    }

    private static <E> void add(Deque<E> all, E sample, int max) {
        all.addLast(sample);
        if (all.size() > max) {
            all.removeFirst();
        }
    }

    /** Returns the samples of a function, the oldest first. */
    synchronized List<Sample> of(String function) {
        Samples its = functions.get(function);
        return its == null ? List.of() : new ArrayList<>(its.seconds);
    }

    /** Returns the latencies of a function, of five seconds each, the oldest first. */
    synchronized List<Latencies> latencies(String function) {
        Samples its = functions.get(function);
        return its == null ? List.of() : new ArrayList<>(its.latencies);
    }
}
