package io.lambdadispatcher.bench.load;

import java.util.Locale;
import org.HdrHistogram.Histogram;

/**
 * The results since the last report. Latencies are in microseconds, with three significant digits.
 * Not thread-safe.
 */
final class LoadTally {
    private static final long MOST_MICROS = 600_000_000L;
    private static final double[] PERCENTILES = {50, 90, 99, 99.9};

    private final Histogram fromIntended = new Histogram(MOST_MICROS, 3);
    private final Histogram fromStart = new Histogram(MOST_MICROS, 3);
    private long errors;

    /**
     * Records a good response. All times are those of {@link System#nanoTime}.
     *
     * @param intendedNanos when the request should have started
     * @param startedNanos when the request started
     */
    void answered(long intendedNanos, long startedNanos, long nowNanos) {
        fromIntended.recordValue(micros(nowNanos - intendedNanos));
        fromStart.recordValue(micros(nowNanos - startedNanos));
    }

    void failed() {
        errors++;
    }

    private static long micros(long nanos) {
        return Math.min(MOST_MICROS, Math.max(0, nanos / 1000));
    }

    /**
     * Returns the results as one JSON object.
     *
     * @param event the kind of the report
     * @param secondsSoFar when the reported time ends
     * @param seconds length of the reported time
     */
    String report(String event, double secondsSoFar, double seconds) {
        return String.format(
                Locale.ROOT,
                "{\"event\":\"%s\",\"at\":%.3f,\"seconds\":%.3f,\"answered\":%d,\"errors\":%d,\"rate\":%.3f,%s,%s}",
                event,
                secondsSoFar,
                seconds,
                fromIntended.getTotalCount(),
                errors,
                fromIntended.getTotalCount() / seconds,
                latencies("latency", fromIntended),
                latencies("uncorrected", fromStart));
    }

    private static String latencies(String name, Histogram histogram) {
        StringBuilder json = new StringBuilder("\"").append(name).append("_millis\":{");
        for (double percentile : PERCENTILES) {
            String key = "p" + Double.toString(percentile).replaceAll("\\.0$", "");
            json.append(member(key, histogram.getValueAtPercentile(percentile) / 1e3))
                    .append(',');
        }
        json.append(member("mean", histogram.getMean() / 1e3)).append(',');
        return json.append(member("max", histogram.getMaxValue() / 1e3))
                .append('}')
                .toString();
    }

    private static String member(String key, double value) {
        return String.format(Locale.ROOT, "\"%s\":%.3f", key, value);
    }

    void clear() {
        fromIntended.reset();
        fromStart.reset();
        errors = 0;
    }
}
