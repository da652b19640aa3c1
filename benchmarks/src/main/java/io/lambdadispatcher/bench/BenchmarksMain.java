package io.lambdadispatcher.bench;

import io.lambdadispatcher.bench.loopback.Sockets;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.ProfilerConfig;
import org.openjdk.jmh.runner.options.TimeValue;

/**
 * JMH's command line with other defaults: two forks, five iterations of one second each for warm-up
 * and for measurement, threads like Netty's event loops, and the GC profiler. Results are written
 * as JSON beside the jar. The option {@code -into FILE} also adds them to a file with results of
 * the same commit, JDK and CPU. The file is created if it does not exist.
 */
public final class BenchmarksMain {
    static final String[] JVM_ARGUMENTS = {
        "-Djmh.executor=CUSTOM",
        "-Djmh.executor.class=" + FastThreadExecutor.class.getName(),
        "-Xms512m",
        "-Xmx512m",
        "--enable-native-access=ALL-UNNAMED",
        "-Dslf4j.internal.verbosity=ERROR"
    };

    private static final String INTO = "-into";
    private static final String COMMAND = "java -jar benchmarks/target/benchmarks.jar ";

    private static final TimeValue SECOND = TimeValue.seconds(1);

    private BenchmarksMain() {}

    public static void main(String[] args) throws IOException {
        // This jar has no logging backend on purpose, so SLF4J must not warn about it.
        System.setProperty("slf4j.internal.verbosity", "ERROR");
        List<String> rest = new ArrayList<>(Arrays.asList(args));
        try {
            Path into = takeInto(rest);
            CommandLineOptions given = new CommandLineOptions(rest.toArray(String[]::new));
            if (asksForText(given)) {
                org.openjdk.jmh.Main.main(args);
            } else {
                measure(given, into, String.join(" ", args));
            }
        } catch (IllegalArgumentException | CommandLineOptionException | RunnerException e) {
            System.err.println(Objects.requireNonNullElse(e.getMessage(), e.toString()));
            System.exit(1);
        }
    }

    /** Removes {@code -into FILE} from {@code args}. @return {@code null} if it is not there */
    private static @Nullable Path takeInto(List<String> args) {
        int at = args.indexOf(INTO);
        if (at < 0) {
            return null;
        }
        if (at == args.size() - 1) {
            throw new IllegalArgumentException(INTO + " without a file, expected its path");
        }
        args.remove(at);
        return Path.of(args.remove(at));
    }

    private static boolean asksForText(CommandLineOptions given) {
        return given.shouldHelp()
                || given.shouldList()
                || given.shouldListWithParams()
                || given.shouldListProfilers()
                || given.shouldListResultFormats();
    }

    private static void measure(CommandLineOptions given, @Nullable Path into, String arguments)
            throws IOException, RunnerException {
        Instant taken = Instant.now().truncatedTo(ChronoUnit.SECONDS);
        Results results = Results.of(run(given), taken, COMMAND + arguments);
        Path file = Machine.target().resolve("jmh-" + taken.toString().replace(":", "") + ".json");
        print(results);
        results.write(file);
        System.out.println("\n" + file);
        if (into != null) {
            (Files.exists(into) ? Results.read(into).with(results) : results).write(into);
            System.out.println(into);
        }
    }

    private static Collection<RunResult> run(CommandLineOptions given) throws RunnerException {
        OptionsBuilder options = withDefaults(given);
        if (given.getProfilers().stream().noneMatch(BenchmarksMain::isGc)) {
            options.addProfiler(GCProfiler.class);
        }
        if (!given.getParameter(Sockets.PARAMETER).hasValue()) {
            options.param(Sockets.PARAMETER, Sockets.usable(System.out::println));
        }
        return new Runner(options.build()).run();
    }

    /** Sets defaults. Each can be overridden on the command line. */
    static OptionsBuilder withDefaults(Options given) {
        OptionsBuilder options = new OptionsBuilder();
        options.parent(given)
                .forks(given.getForkCount().orElse(2))
                .warmupIterations(given.getWarmupIterations().orElse(5))
                .warmupTime(given.getWarmupTime().orElse(SECOND))
                .measurementIterations(given.getMeasurementIterations().orElse(5))
                .measurementTime(given.getMeasurementTime().orElse(SECOND));
        if (!given.getJvmArgsAppend().hasValue()) {
            options.jvmArgsAppend(JVM_ARGUMENTS);
        }
        return options;
    }

    private static boolean isGc(ProfilerConfig profiler) {
        return profiler.getKlass().equals("gc") || profiler.getKlass().equals(GCProfiler.class.getName());
    }

    /** Prints each result on one line. JMH's own table splits or omits these values. */
    private static void print(Results results) {
        System.out.printf(
                "%n%-52s %-40s %12s %-6s %12s %12s%n", "benchmark", "params", "score", "unit", "B/op", "MB/s");
        for (Results.Measurement result : results.results()) {
            System.out.printf(
                    "%-52s %-40s %12s %-6s %12s %12s%n",
                    result.benchmark(),
                    String.join(" ", result.params().values()),
                    figure(result.score()),
                    result.unit(),
                    figure(result.allocatedBytes()),
                    figure(result.megabytesPerSecond()));
        }
    }

    private static String figure(@Nullable Double value) {
        return value == null ? "" : String.format(Locale.ROOT, value < 100 ? "%,.2f" : "%,.0f", value);
    }
}
