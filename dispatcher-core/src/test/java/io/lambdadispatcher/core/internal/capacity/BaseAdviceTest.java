package io.lambdadispatcher.core.internal.capacity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assertions.withinPercentage;

import io.lambdadispatcher.core.observe.CapacitySnapshot.AdvisedBase;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.IntUnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class BaseAdviceTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final int HOUR = 3600;
    private static final double UTILIZATION = 0.8;

    private final BaseAdvice advice = new BaseAdvice();
    private long nanos = Long.MAX_VALUE - 99 * SECOND; // the clock may overflow

    private void pass(int seconds, double concurrency) {
        for (int i = 0; i < seconds; i++) {
            nanos += SECOND;
            advice.onSecond(nanos, concurrency);
        }
    }

    private AdvisedBase advised(int baseNow, double utilization) {
        return Objects.requireNonNull(advice.advise(baseNow, utilization, 1));
    }

    /** Concurrency above a level for more than 46 % of the time is worth a base. */
    @Test
    void should_advise_the_last_stream_that_is_needed_for_long_enough() {
        for (int i = 0; i < 30; i++) {
            pass(600, 8);
            pass(240, 20);
            pass(300, 30);
            pass(60, 900);
        }
        // 20 and more: 53 % of the time, and 30 and more: 33 %, with the half minutes after peaks.
        assertThat(advised(0, 1).concurrency()).isEqualTo(20);
        assertThat(advised(0, 0.5).concurrency()).isEqualTo(40);
    }

    @Test
    void should_calculate_what_the_advised_and_the_present_base_cost() {
        for (int i = 0; i < 60; i++) {
            pass(300, 20);
            pass(170, 28);
        }
        // 28 for 200 of 470 s, with the half minute after each peak.
        double peaks = 200.0 / 470;
        double base = HOUR * AdvisedBase.GB_SECOND;
        double launched = HOUR * AdvisedBase.LAMBDA_GB_SECOND;

        AdvisedBase all = advised(10, 1);
        assertThat(all.concurrency()).isEqualTo(20);
        assertThat(all.dollarsPerHour()).isCloseTo(20 * base + peaks * 8 * launched, withinPercentage(2));
        assertThat(all.dollarsPerHourNow()).isCloseTo(10 * base + (10 + peaks * 8) * launched, withinPercentage(2));
    }

    @Test
    void should_advise_nothing_before_ten_minutes_and_no_base_without_traffic() {
        pass(600, 50);
        assertThat(advice.advise(0, UTILIZATION, 1)).isNull();
        pass(1, 50);
        assertThat(advised(0, UTILIZATION).concurrency()).isEqualTo(64);
        pass(10 * HOUR, 0);
        assertThat(advised(7, UTILIZATION)).returns(0, AdvisedBase::concurrency);
        assertThat(advised(7, UTILIZATION).dollarsPerHour()).isLessThan(0.01);
    }

    /** The machine was suspended, or samples are late. */
    @Test
    void should_not_count_a_gap_as_traffic() {
        pass(700, 10);
        nanos += 24 * HOUR * SECOND;
        advice.onSecond(nanos, 500);
        assertThat(advised(0, 1).concurrency()).isEqualTo(10);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 31, 32, 33, 64, 100, 1000, 12_345, 1_000_000, Integer.MAX_VALUE})
    void should_advise_at_most_a_sixteenth_too_much_for_steady_traffic(int concurrency) {
        pass(700, concurrency);
        assertThat((double) advised(0, 1).concurrency())
                .isBetween((double) concurrency, Math.min(Integer.MAX_VALUE, concurrency * (17 / 16.0)));
    }

    /** Readers of the cost page can check the advice. */
    @Test
    void should_have_the_prices_of_the_cost_page() throws IOException {
        double vcpuOfGb = 1024 / 1769.0;
        assertThat(AdvisedBase.LAMBDA_GB_SECOND).isEqualTo(price("lambda"));
        assertThat(AdvisedBase.GB_SECOND)
                .isCloseTo((price("fargate-vcpu") * vcpuOfGb + price("fargate-gb")) / HOUR, within(1e-12));
    }

    private static double price(String name) throws IOException {
        String page = Files.readString(Path.of("../docs/explanation/cost.md"));
        Matcher row = Pattern.compile("\\| `" + name + "` \\| ([0-9.]+) \\|").matcher(page);
        assertThat(row.find()).isTrue();
        return Double.parseDouble(row.group(1));
    }

    // The recorded traffic, with the containers and workers of the cost page: 200 ms of waiting
    // and 5 ms of CPU for each request.

    private static final double SERVICE_SECONDS = 0.2;
    private static final int STREAMS = 8;
    private static final int BIN_SECONDS = 300;
    /** Two weeks. */
    private static final int BINS = 4032;
    /** For this time, a launched worker is kept when it is not needed. */
    private static final int HELD_SECONDS = 30;
    /** A container with 0.25 vCPU and 0.5 GB. */
    private static final double CONTAINER_SECOND = (0.25 * 0.040_48 + 0.5 * 0.004_445) / HOUR;
    /** A worker with 512 MB. */
    private static final double WORKER_SECOND = 0.5 * AdvisedBase.LAMBDA_GB_SECOND;

    /** Returns the requests of each 5 minutes of a record of real traffic. */
    static double[] counts(String trace) throws IOException {
        return Files.readAllLines(Path.of("../benchmarks/macro/traces/" + trace + ".csv")).stream()
                .skip(1)
                .mapToDouble(Double::parseDouble)
                .toArray();
    }

    /**
     * Returns the requests in flight in each second of the two weeks around the peak. The arrivals
     * of a second have ten times the variance of a Poisson process.
     */
    private static int[] concurrency(String trace, double perSecond) throws IOException {
        double[] counts = counts(trace);
        double mean = Arrays.stream(counts).average().orElseThrow();
        int peak = 0;
        for (int i = 0; i < counts.length; i++) {
            peak = counts[i] > counts[peak] ? i : peak;
        }
        int from = Math.max(0, Math.min(counts.length - BINS, peak - BINS / 2));
        int[] seconds = new int[BINS * BIN_SECONDS];
        Random random = new Random(1);
        for (int i = 0; i < seconds.length; i++) {
            double rate = counts[from + i / BIN_SECONDS] / mean * perSecond;
            double arrivals = rate + random.nextGaussian() * Math.sqrt(10 * rate);
            seconds[i] = (int) Math.max(0, Math.round(arrivals * SERVICE_SECONDS));
        }
        return seconds;
    }

    /** Returns the highest concurrency of each time for which a launched worker is kept. */
    private static int[] peaks(int[] concurrency) {
        int[] peaks = new int[concurrency.length / HELD_SECONDS];
        for (int i = 0; i < concurrency.length; i++) {
            peaks[i / HELD_SECONDS] = Math.max(peaks[i / HELD_SECONDS], concurrency[i]);
        }
        return peaks;
    }

    /** Returns what a base costs, and launched workers for what exceeds it. */
    private static double dollars(int[] peaks, IntUnaryOperator containersAt) {
        double dollars = 0;
        for (int i = 0; i < peaks.length; i++) {
            int containers = containersAt.applyAsInt(i * HELD_SECONDS);
            double launched = Math.ceil(Math.max(0, peaks[i] / UTILIZATION - containers * STREAMS) / STREAMS);
            dollars += HELD_SECONDS * (containers * CONTAINER_SECOND + launched * WORKER_SECOND);
        }
        return dollars;
    }

    private static double dollarsOfBestFixed(int[] peaks) {
        double best = Double.MAX_VALUE;
        for (int containers = 0; ; containers++) {
            int size = containers;
            double dollars = dollars(peaks, second -> size);
            if (dollars > best) {
                return best;
            }
            best = dollars;
        }
    }

    @ParameterizedTest
    @CsvSource({"elb, 50", "elb, 400", "elb, 2000", "news, 50", "news, 400", "news, 2000"})
    void should_cost_little_more_than_the_best_fixed_base_in_hindsight(String trace, int perSecond) throws IOException {
        int[] concurrency = concurrency(trace, perSecond);
        int[] containers = new int[concurrency.length / BIN_SECONDS];
        for (int i = 0; i < concurrency.length; i++) {
            if (i % BIN_SECONDS == 0 && i > 0) {
                // It takes effect in the next five minutes, and knows only what was before.
                AdvisedBase now = advice.advise(0, UTILIZATION, 1);
                containers[i / BIN_SECONDS] = now == null ? 0 : (now.concurrency() + STREAMS - 1) / STREAMS;
            }
            pass(1, concurrency[i]);
        }
        int[] peaks = peaks(concurrency);
        double ratio = dollars(peaks, second -> containers[second / BIN_SECONDS]) / dollarsOfBestFixed(peaks);
        assertThat(ratio).isBetween(0.5, 1.10);
    }
}
