package io.lambdadispatcher.bench.pool;

import io.lambdadispatcher.bench.Measured;
import io.lambdadispatcher.core.internal.pool.PickLoad;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * The choice among workers, one end and one start of a request: should not depend on how many there are. Every stream has a worker
 * of its own here, the worst case; what is left of a slope is the processor's cache.
 */
@State(Scope.Thread)
public class LeastOutstandingBenchmark extends Measured {
    @Param({"10", "1000", "100000"})
    public int streams;

    private PickLoad load = new PickLoad(1);

    @Setup
    public void prepare() {
        load = new PickLoad(streams);
    }

    @Benchmark
    public int endAndStart() {
        return load.endAndStart();
    }
}
