package io.lambdadispatcher.core.internal.policy;

import java.util.concurrent.ThreadLocalRandom;
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
 * Measures what the limits of a request cost. Use {@code -t 2} for two event loops that share the
 * keys.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class AdmissionBenchmark {
    private static final int BURST = 1_000_000;

    @Param({"1", "1000"})
    public int keys;

    private final RateLimiter limiter = new RateLimiter();
    private final Bulkhead bulkhead = new Bulkhead();
    private String[] names = {};

    @Setup
    public void prepare() {
        names = new String[keys];
        for (int i = 0; i < keys; i++) {
            names[i] = "key-" + i;
        }
    }

    private String key() {
        return names[ThreadLocalRandom.current().nextInt(keys)];
    }

    @Benchmark
    public long rateLimit() {
        return limiter.tryTake(key(), 1000, BURST, System.nanoTime());
    }

    @Benchmark
    public boolean limitOfAll() {
        boolean entered = bulkhead.tryEnter(BURST);
        bulkhead.leave();
        return entered;
    }

    @Benchmark
    public boolean limitOfTenants() {
        String tenant = key();
        boolean entered = bulkhead.tryEnter(tenant, BURST);
        bulkhead.leave(tenant);
        return entered;
    }

    @Benchmark
    public long baseline() {
        return key().length() + System.nanoTime();
    }
}
