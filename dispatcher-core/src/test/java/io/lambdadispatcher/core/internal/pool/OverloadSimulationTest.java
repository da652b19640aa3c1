package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.options.FunctionOptions;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What part of the requests that arrive in each second of an overload is answered. Workers serve
 * 200 requests per second of 80 to 120 ms, in virtual time. The queue timeout is 10 s. {@link
 * #main} prints the parts.
 */
class OverloadSimulationTest {
    private static final int SERVED_PER_SECOND = 200;
    private static final int SECONDS = 60;
    private static final Http2Headers HEAD = new DefaultHttp2Headers()
            .method("GET")
            .scheme("http")
            .authority("a")
            .path("/");

    /** @param load the requests that arrive, as a multiple of those that can be served */
    private static TrafficSimulation overload(double load) {
        TrafficSimulation simulation = new TrafficSimulation(
                FunctionOptions.builder("f")
                        .queue(100_000, Duration.ofSeconds(10))
                        .build(),
                5);
        for (int i = 0; i < 4; i++) {
            simulation.addWorker(random -> 80_000_000L + random.nextInt(40_000_000));
        }
        double perSecond = load * SERVED_PER_SECOND;
        simulation.run((int) (SECONDS * perSecond), perSecond, HEAD);
        return simulation;
    }

    /** Returns the part that was answered of the requests that arrived in each whole second. */
    private static List<Double> answered(TrafficSimulation simulation) {
        return IntStream.range(0, SECONDS - 2)
                .mapToObj(second -> simulation.answeredOf.getOrDefault(second, 0)
                        / (double) simulation.arrivedIn.getOrDefault(second, 1))
                .toList();
    }

    public static void main(String[] args) {
        for (double load : new double[] {1.5, 2, 3}) {
            List<Double> parts = answered(overload(load));
            System.out.println(load + " times: "
                    + parts.stream().map(part -> String.format("%.2f", part)).toList());
        }
    }

    @ParameterizedTest
    @CsvSource({"1.1, 0.75", "1.5, 0.5", "2, 0.3", "3, 0.15"})
    void should_serve_a_part_of_the_requests_of_each_second(double load, double least) {
        assertThat(answered(overload(load))).allMatch(part -> part >= least);
    }

    @Test
    void should_serve_about_two_thirds_of_half_as_many_again_at_all_times() {
        List<Double> parts = answered(overload(1.5));
        // A mean over five seconds, because arrivals are random.
        for (int second = 0; second + 5 <= parts.size(); second++) {
            double mean = parts.subList(second, second + 5).stream()
                    .mapToDouble(Double::doubleValue)
                    .sum();
            assertThat(mean / 5).as("from second " + second).isGreaterThan(0.55);
        }
    }
}
