package io.lambdadispatcher.bench.base64;

import io.lambdadispatcher.bench.Measured;
import java.util.Base64;
import java.util.Random;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.infra.Blackhole;

/** Base64 and nothing else: so that nobody can say that {@link DirectExchangeBenchmark} suffers from a slow codec. */
@State(Scope.Thread)
public class CodecBenchmark extends Measured {
    @Param
    public Codec codec = Codec.JDK;

    /** Before base64. */
    @Param({"0", "4", "1024", "16384", "168161", "1048576", "5767168"})
    public int bodyBytes;

    private byte[] octets = {};
    private byte[] base64 = {};

    /** With small ones before, for the reason that {@link EchoClient#prepare} gives. */
    @Setup
    public void prepare(Blackhole hole) {
        octets(EchoClient.SMALL_BODY_BYTES);
        for (int i = 0; i < EchoClient.WARM_UP_CALLS; i++) {
            encode(hole);
            decode(hole);
        }
        octets(bodyBytes);
    }

    private void octets(int bytes) {
        octets = new byte[bytes];
        new Random(bytes).nextBytes(octets);
        base64 = Base64.getEncoder().encode(octets);
    }

    @Benchmark
    public void encode(Blackhole hole) {
        codec.encode(octets, hole);
    }

    @Benchmark
    public void decode(Blackhole hole) {
        codec.decode(base64, hole);
    }
}
