package io.lambdadispatcher.bench.base64;

import java.util.Base64;
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
import org.openjdk.jmh.infra.Blackhole;

/**
 * Measures base64 codecs alone. The result shows that a slow codec does not distort {@code
 * DirectExchangeBenchmark} in dispatcher-core.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class CodecBenchmark {
    private static final int SMALL_BODY_BYTES = 1024;
    private static final int WARM_UP_CALLS = 10_000;

    @Param
    public Codec codec = Codec.JDK;

    /** The size before base64 encoding. */
    @Param({"0", "4", "1024", "16384", "168161", "1048576", "5767168"})
    public int bodyBytes;

    private byte[] data = {};
    private byte[] base64 = {};

    /**
     * Starts with many small bodies. HotSpot uses vector instructions for base64 only in callers
     * that it has compiled, and callers with large bodies run too rarely to be compiled in the time
     * of a benchmark.
     */
    @Setup
    public void prepare(Blackhole hole) {
        newBody(SMALL_BODY_BYTES);
        for (int i = 0; i < WARM_UP_CALLS; i++) {
            encode(hole);
            decode(hole);
        }
        newBody(bodyBytes);
    }

    private void newBody(int bytes) {
        data = new byte[bytes];
        new Random(bytes).nextBytes(data);
        base64 = Base64.getEncoder().encode(data);
    }

    @Benchmark
    public void encode(Blackhole hole) {
        codec.encode(data, hole);
    }

    @Benchmark
    public void decode(Blackhole hole) {
        codec.decode(base64, hole);
    }
}
