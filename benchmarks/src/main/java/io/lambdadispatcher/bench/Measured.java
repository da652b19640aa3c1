package io.lambdadispatcher.bench;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Warmup;

/** How every benchmark runs unless the command line says otherwise: two forks, on threads as Netty's event loops have them. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(
        value = 2,
        jvmArgsAppend = {
            "-Djmh.executor=CUSTOM",
            "-Djmh.executor.class=io.lambdadispatcher.bench.FastThreadExecutor",
            "-Xms512m",
            "-Xmx512m",
            "--enable-native-access=ALL-UNNAMED",
            "-Dslf4j.internal.verbosity=ERROR"
        })
public abstract class Measured {}
