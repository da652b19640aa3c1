package io.lambdadispatcher.core.internal.capacity.simulate;

import static io.lambdadispatcher.core.internal.capacity.simulate.SimulationSetting.*;

import java.util.Arrays;
import java.util.Locale;
import java.util.function.UnaryOperator;

/** Named runs. */
enum Scenario {
    SCALE_UP(
            "2 warm workers of the 20 that 100 requests in flight need; direct: 10 warm environments of 100",
            "published: dispatch 81 rps, avg 1.167 s, max 2.7 s; direct 98 rps, avg 0.873 s, max 8.8 s",
            Shape.CLOSED,
            // Service times are from the same rows when all workers are warm, with shared network
            // and processors.
            of -> of.with(IN_FLIGHT, 100)
                    .with(REQUESTS, 1000)
                    .with(SERVICE_MILLIS, 180)
                    .with(DIRECT_SERVICE_MILLIS, 193)
                    .with(STREAMS, 5)
                    .with(MIN_WORKERS, 2)
                    .with(MAX_WORKERS, 20)
                    .with(DIRECT_WARM, 10)
                    .with(DIRECT_COLD_START_SECONDS, 8)
                    .with(COLD_START_SIGMA, 0.03)),

    SCALE_UP_SMALL(
            "10 requests in flight, 2 warm workers, 10 warm environments",
            "published: dispatch 52 rps, avg 0.185 s; direct 193 rps, avg 0.050 s",
            Shape.CLOSED,
            of -> of.with(IN_FLIGHT, 10)
                    .with(REQUESTS, 1000)
                    .with(SERVICE_MILLIS, 177)
                    .with(DIRECT_SERVICE_MILLIS, 48)
                    .with(STREAMS, 5)
                    .with(MIN_WORKERS, 2)
                    .with(MAX_WORKERS, 2)
                    .with(DIRECT_WARM, 10)
                    .with(DIRECT_COLD_START_SECONDS, 8)),

    DIURNAL(
            "a day: 40 requests per second at night, 400 at noon",
            "",
            Shape.DIURNAL,
            of -> of.with(DURATION_SECONDS, 86_400)
                    .with(RATE, 40)
                    .with(PEAK_RATE, 400)
                    .with(SERVICE_MILLIS, 200)
                    .with(SERVICE_SIGMA, 0.5)),

    SPIKE(
            "20 requests per second, then 2,000 for two minutes, then 20 again",
            "",
            Shape.SPIKE,
            of -> of.with(DURATION_SECONDS, 900)
                    .with(RATE, 20)
                    .with(PEAK_RATE, 2000)
                    .with(MAX_WORKERS, 1000)),

    LARGE(
            "16,000 requests per second of 5 s each: 10,000 workers",
            "",
            Shape.STEADY,
            of -> of.with(DURATION_SECONDS, 300)
                    .with(RATE, 16_000)
                    .with(PEAK_RATE, 16_000)
                    .with(SERVICE_MILLIS, 4_780)
                    .with(MAX_WORKERS, 20_000)
                    .with(LAUNCHES_PER_MINUTE, 100_000)
                    .with(QUEUE_LIMIT, 200_000)),

    FAILING(
            "the function fails forever while 1,000 requests wait",
            "",
            Shape.CLOSED,
            of -> of.with(DURATION_SECONDS, 900).with(IN_FLIGHT, 1000).with(FAILURE_PROBABILITY, 1)),

    THROTTLED(
            "the account allows 8 concurrent executions of the 20 needed, for five minutes",
            "",
            Shape.STEADY,
            of -> of.with(RATE, 600)
                    .with(PEAK_RATE, 600)
                    .with(SERVICE_MILLIS, 250)
                    .with(ACCOUNT_LIMIT, 8)
                    .with(ACCOUNT_LIMIT_SECONDS, 300)),

    CHURN(
            "three hours of requests of a second; each worker has 15 minutes to live",
            "",
            Shape.STEADY,
            of -> of.with(DURATION_SECONDS, 10_800)
                    .with(RATE, 100)
                    .with(PEAK_RATE, 100)
                    .with(SERVICE_MILLIS, 1000)
                    .with(SERVICE_SIGMA, 0.7));

    /** The way in which the request rate changes. */
    private enum Shape {
        CLOSED,
        STEADY,
        DIURNAL,
        SPIKE
    }

    private static final double DAY_SECONDS = 86_400;

    final String meaning;
    /** Published measurements of others; empty if there are none. */
    final String published;

    private final Shape shape;
    private final UnaryOperator<SimulationSettings> own;

    Scenario(String meaning, String published, Shape shape, UnaryOperator<SimulationSettings> own) {
        this.meaning = meaning;
        this.published = published;
        this.shape = shape;
        this.own = own;
    }

    /** Returns the name on the command line. */
    String option() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** @throws IllegalArgumentException if there is no scenario with this name */
    static Scenario of(String option) {
        return Arrays.stream(values())
                .filter(one -> one.option().equals(option))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("scenario: " + option + ", expected one of "
                        + String.join(
                                ", ",
                                Arrays.stream(values()).map(Scenario::option).toList())));
    }

    SimulationSettings settings() {
        return own.apply(SimulationSettings.defaults());
    }

    /** @param untilNanos no request is sent from this time on */
    Traffic traffic(SimulationSettings settings, long untilNanos) {
        double low = settings.get(RATE);
        double high = Math.max(low, settings.get(PEAK_RATE));
        double peakAt = settings.get(PEAK_AT_SECONDS);
        double peakEnd = peakAt + settings.get(PEAK_SECONDS);
        return switch (shape) {
            case CLOSED -> new Traffic.Closed(settings.count(IN_FLIGHT), settings.count(REQUESTS), untilNanos);
            case STEADY -> new Traffic.Open(high, seconds -> high, untilNanos);
            case DIURNAL ->
                new Traffic.Open(
                        high,
                        seconds -> low + (high - low) * (1 - Math.cos(2 * Math.PI * seconds / DAY_SECONDS)) / 2,
                        untilNanos);
            case SPIKE ->
                new Traffic.Open(high, seconds -> seconds >= peakAt && seconds < peakEnd ? high : low, untilNanos);
        };
    }
}
