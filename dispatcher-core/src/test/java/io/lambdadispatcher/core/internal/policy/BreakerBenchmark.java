package io.lambdadispatcher.core.internal.policy;

import io.lambdadispatcher.core.options.BreakerPolicy;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/**
 * Measures what a closed breaker costs a request. Use {@code -t 2} for two event loops that share
 * it.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class BreakerBenchmark {
    private final BreakerPolicy policy =
            BreakerPolicy.builder("default").errors(0.9).build();
    private final Breaker breaker = new Breaker((state, reason) -> {}, System.nanoTime());

    private int count;

    @Benchmark
    public Breaker.@Nullable Phase success() {
        return request(false);
    }

    @Benchmark
    public Breaker.@Nullable Phase halfFails() {
        return request((count++ & 1) == 0);
    }

    private Breaker.@Nullable Phase request(boolean failed) {
        long now = System.nanoTime();
        Breaker.Phase passed = breaker.tryPass(policy, now);
        if (passed != null) {
            breaker.onEnd(passed, failed, policy, now);
        }
        return passed;
    }

    @Benchmark
    public long baseline() {
        return System.nanoTime();
    }
}
