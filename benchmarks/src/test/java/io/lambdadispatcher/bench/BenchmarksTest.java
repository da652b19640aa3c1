package io.lambdadispatcher.bench;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.bench.loopback.Sockets;
import io.netty.util.ResourceLeakDetector;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.BenchmarkList;
import org.openjdk.jmh.runner.BenchmarkListEntry;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Runs every benchmark for a moment, with small sizes. The figures mean nothing. */
class BenchmarksTest {
    private static final ResourceLeakDetector.Level LEVEL = ResourceLeakDetector.getLevel();

    /** With the build's leak detection level, paranoid, each benchmark's setup takes far longer. */
    @BeforeAll
    static void prepare() {
        // Another build on this machine may run benchmarks, too. No figure of this run counts.
        System.setProperty("jmh.ignoreLock", "true");
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.SIMPLE);
    }

    @AfterAll
    static void restoreLeakDetection() {
        ResourceLeakDetector.setLevel(LEVEL);
    }

    @Test
    void should_run_every_benchmark() throws RunnerException {
        Options options = new OptionsBuilder()
                .forks(0)
                .warmupIterations(0)
                .measurementIterations(1)
                .measurementTime(TimeValue.milliseconds(5))
                .param("bodyBytes", "0", "4", "168161")
                .param("streams", "10", "1000")
                .param("waiting", "10")
                .param(Sockets.PARAMETER, Sockets.usable(reason -> {}))
                .addProfiler(GCProfiler.class)
                .shouldFailOnError(true)
                .verbosity(VerboseMode.SILENT)
                .build();

        Collection<RunResult> results = new Runner(options).run();

        assertThat(names(results)).isEqualTo(known()).isNotEmpty();
        assertThat(Results.of(results, Instant.EPOCH, "smoke").results())
                .hasSameSizeAs(results)
                .allSatisfy(result -> assertThat(result.score()).isPositive());
    }

    private static Set<String> names(Collection<RunResult> results) {
        return results.stream().map(result -> result.getParams().getBenchmark()).collect(Collectors.toSet());
    }

    private static Set<String> known() {
        return BenchmarkList.defaultList()
                .getAll(OutputFormatFactory.createFormatInstance(System.out, VerboseMode.SILENT), List.of())
                .stream()
                .map(BenchmarkListEntry::getUsername)
                .collect(Collectors.toSet());
    }
}
