package io.lambdadispatcher.bench.loopback;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Measures {@code GET /ping} from the client to the worker and back. The bytes allocated include
 * client, dispatcher and worker.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class LoopbackBenchmark {
    private static final int REQUESTS = 2000;
    private static final int REQUESTS_ALONE = 50;
    private static final int IN_FLIGHT = 100;

    @Param
    public Sockets sockets = Sockets.NIO;

    /** Whether the client's and the worker's connections use TLS. */
    @Param({"false", "true"})
    public boolean tls;

    private @Nullable Loopback loopback;

    @Setup
    public void prepare() throws Exception {
        loopback = new Loopback(sockets, tls);
    }

    @TearDown
    public void release() throws Exception {
        loopback().close();
    }

    private Loopback loopback() {
        if (loopback == null) {
            throw new IllegalStateException("not prepared");
        }
        return loopback;
    }

    @Benchmark
    @BenchmarkMode(Mode.Throughput)
    @OutputTimeUnit(TimeUnit.SECONDS)
    @OperationsPerInvocation(REQUESTS)
    public void hundredInFlight() throws Exception {
        loopback().client.run(REQUESTS, IN_FLIGHT);
    }

    /**
     * Measures the latency of a request. The measuring thread waits for {@value #REQUESTS_ALONE}
     * requests, so that the time to wake it up does not count.
     */
    @Benchmark
    @OutputTimeUnit(TimeUnit.MICROSECONDS)
    @OperationsPerInvocation(REQUESTS_ALONE)
    public void oneInFlight() throws Exception {
        loopback().client.run(REQUESTS_ALONE, 1);
    }
}
