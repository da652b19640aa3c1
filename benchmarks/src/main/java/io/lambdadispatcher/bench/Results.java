package io.lambdadispatcher.bench;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import tools.jackson.databind.json.JsonMapper;

/**
 * Results of JMH without the details that only JMH needs. A file of results is compact, and two of
 * them are easy to compare. Immutable.
 */
record Results(Meta meta, List<Measurement> results) {
    private static final JsonMapper JSON = new JsonMapper();
    private static final Pattern PACKAGE = Pattern.compile("^io\\.lambdadispatcher\\.(bench|core\\.internal)\\.");
    private static final String ALLOCATED = "gc.alloc.rate.norm";
    private static final String BODY = "bodyBytes";
    private static final MathContext DIGITS = new MathContext(5);

    /**
     * The conditions of the measurement, with the same names as in the results of the macro runs.
     *
     * @param taken when the last results were added
     * @param dirty whether there were changes that are not committed
     * @param flags of the measured JVMs
     * @param command all commands that have added results, one after the other
     */
    record Meta(
            String taken,
            String commit,
            boolean dirty,
            String jdk,
            List<String> flags,
            String cpu,
            int cores,
            String kernel,
            String command) {

        static Meta of(BenchmarkParams params, Instant taken, String command) {
            return new Meta(
                    taken.toString(),
                    Machine.commit(),
                    Machine.isDirty(),
                    params.getVmName() + " " + params.getVmVersion(),
                    List.copyOf(params.getJvmArgs()),
                    Machine.cpu(),
                    Runtime.getRuntime().availableProcessors(),
                    System.getProperty("os.version"),
                    command);
        }

        private boolean comparesWith(Meta other) {
            return commit.equals(other.commit)
                    && dirty == other.dirty
                    && jdk.equals(other.jdk)
                    && cpu.equals(other.cpu);
        }

        private Meta after(Meta older) {
            String commands = older.command.contains(command) ? older.command : older.command + " && " + command;
            return new Meta(taken, commit, dirty, jdk, flags, cpu, cores, kernel, commands);
        }
    }

    /**
     * The result of one benchmark with one set of parameters.
     *
     * @param effort forks × iterations × time
     * @param error half of the 99.9 % confidence interval; {@code null} = too few samples
     * @param allocatedBytes per operation, by all threads of the JVM
     * @param megabytesPerSecond of body; a body that is sent in both directions counts once; {@code
     *     null} = there is no body
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    record Measurement(
            String benchmark,
            Map<String, String> params,
            String mode,
            String effort,
            double score,
            @Nullable Double error,
            String unit,
            @JsonProperty("allocated_bytes") @Nullable Double allocatedBytes,
            @JsonProperty("megabytes_per_second") @Nullable Double megabytesPerSecond) {

        static Measurement of(RunResult from) {
            BenchmarkParams params = from.getParams();
            Result<?> score = from.getPrimaryResult();
            Result<?> allocated = from.getSecondaryResults().get(ALLOCATED);
            Map<String, String> values = new TreeMap<>();
            params.getParamsKeys().forEach(key -> values.put(key, params.getParam(key)));
            return new Measurement(
                    PACKAGE.matcher(params.getBenchmark()).replaceFirst(""),
                    values,
                    params.getMode().shortLabel(),
                    params.getForks() + " × " + params.getMeasurement().getCount() + " × "
                            + params.getMeasurement().getTime(),
                    round(score.getScore()),
                    roundOrNull(score.getScoreError()),
                    score.getScoreUnit(),
                    allocated == null ? null : roundOrNull(allocated.getScore()),
                    megabytesPerSecond(values.get(BODY), score));
        }

        private static @Nullable Double megabytesPerSecond(@Nullable String bodyBytes, Result<?> score) {
            if (bodyBytes == null
                    || bodyBytes.equals("0")
                    || !score.getScoreUnit().equals("ns/op")) {
                return null;
            }
            return roundOrNull(Long.parseLong(bodyBytes) * 1000.0 / score.getScore());
        }

        String key() {
            return benchmark + " " + mode + " " + params;
        }
    }

    static Results of(Collection<RunResult> from, Instant taken, String command) {
        if (from.isEmpty()) {
            throw new IllegalArgumentException("no results, expected at least one benchmark to run to its end");
        }
        BenchmarkParams first = from.iterator().next().getParams();
        return new Results(
                Meta.of(first, taken, command),
                from.stream().map(Measurement::of).toList());
    }

    /**
     * Returns these results, updated by {@code newer}. A benchmark that was measured again keeps
     * its place; other new results are added at the end.
     *
     * @throws IllegalArgumentException if they were not measured under equal conditions
     */
    Results with(Results newer) {
        if (!meta.comparesWith(newer.meta)) {
            throw new IllegalArgumentException("results of " + newer.meta + ", expected those of " + meta);
        }
        Map<String, Measurement> all = new LinkedHashMap<>();
        results.forEach(result -> all.put(result.key(), result));
        newer.results.forEach(result -> all.put(result.key(), result));
        return new Results(newer.meta.after(meta), List.copyOf(all.values()));
    }

    static Results read(Path file) throws IOException {
        return JSON.readValue(Files.readString(file), Results.class);
    }

    /** Writes one result per line. */
    void write(Path file) throws IOException {
        String lines = results.stream().map(JSON::writeValueAsString).collect(Collectors.joining(",\n"));
        Files.writeString(file, "{\"meta\":" + JSON.writeValueAsString(meta) + ",\n\"results\":[\n" + lines + "\n]}\n");
    }

    private static @Nullable Double roundOrNull(double value) {
        return Double.isFinite(value) ? round(value) : null;
    }

    private static double round(double value) {
        return BigDecimal.valueOf(value).round(DIGITS).doubleValue();
    }
}
