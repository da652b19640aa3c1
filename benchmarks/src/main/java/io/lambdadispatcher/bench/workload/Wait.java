package io.lambdadispatcher.bench.workload;

import java.util.concurrent.ThreadLocalRandom;
import java.util.random.RandomGenerator;

/**
 * A random wait that simulates the work of another system. It is lognormal, like the response times
 * of real services. Immutable; any thread.
 *
 * @param medianMillis zero = no wait
 * @param sigma of the logarithm; zero = always the median
 */
public record Wait(double medianMillis, double sigma) {
    private static final double NANOS_PER_MILLI = 1e6;

    public Wait {
        if (!(medianMillis >= 0 && medianMillis < 600_000)) {
            throw new IllegalArgumentException("median: " + medianMillis + " ms, expected 0 to 600000");
        }
        if (!(sigma >= 0 && sigma <= 3)) {
            throw new IllegalArgumentException("sigma: " + sigma + ", expected 0 to 3");
        }
    }

    public static Wait none() {
        return new Wait(0, 0);
    }

    public long nextNanos() {
        return nextNanos(ThreadLocalRandom.current());
    }

    long nextNanos(RandomGenerator random) {
        return (long) (medianMillis * Math.exp(sigma * random.nextGaussian()) * NANOS_PER_MILLI);
    }
}
