package io.lambdadispatcher.core.internal.pool;

import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * Measures the choice among workers when one request ends and the next one starts. The time should
 * not depend on the number of workers. Each stream has a worker of its own, which is the worst
 * case. As many requests are in flight as there are workers, and they end in random order. Any
 * remaining slope comes from the processor's cache.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class LeastOutstandingBenchmark {
    private static final int ORDERS = 1 << 16;

    @Param({"10", "1000", "100000"})
    public int streams;

    private final LeastOutstanding<Worker> choice = new LeastOutstanding<>();
    private Worker[] inFlight = {};
    private int[] order = {};
    private int step;

    private static final class Worker extends LeastOutstanding.Entry {
        private int outstanding;
    }

    @Setup
    public void prepare() {
        for (int i = 0; i < streams; i++) {
            choice.put(new Worker(), 0);
        }
        inFlight = new Worker[streams];
        order = new Random(streams).ints(ORDERS, 0, streams).toArray();
        for (int i = 0; i < streams; i++) {
            inFlight[i] = start();
        }
    }

    @Benchmark
    public int endAndStart() {
        int index = order[step++ & (ORDERS - 1)];
        Worker ended = inFlight[index];
        ended.outstanding--;
        choice.put(ended, ended.outstanding);
        Worker started = start();
        inFlight[index] = started;
        return started.outstanding;
    }

    private Worker start() {
        Worker chosen = choice.least();
        if (chosen == null) {
            throw new IllegalStateException("no worker to choose, expected " + streams);
        }
        chosen.outstanding++;
        choice.put(chosen, chosen.outstanding);
        return chosen;
    }
}
