package io.lambdadispatcher.core.internal.capacity.simulate;

import java.util.random.RandomGenerator;

/**
 * A distribution of durations: a fixed part plus a lognormal part. Most draws are near the median
 * and a few are far above it, like cold starts and calls over a network.
 *
 * @param fixedNanos the fixed part
 * @param medianNanos median of the lognormal part
 * @param sigma standard deviation of the logarithm of the lognormal part; 0 = always the median
 */
record Durations(long fixedNanos, long medianNanos, double sigma) {
    Durations {
        if (fixedNanos < 0 || medianNanos < 0 || sigma < 0) {
            throw new IllegalArgumentException("durations of " + fixedNanos + " ns + " + medianNanos + " ns, sigma "
                    + sigma + ", expected 0 or more of each");
        }
    }

    static Durations ofMillis(double fixed, double median, double sigma) {
        return new Durations((long) (fixed * 1e6), (long) (median * 1e6), sigma);
    }

    long draw(RandomGenerator random) {
        double factor = sigma == 0 ? 1 : Math.exp(sigma * random.nextGaussian());
        return fixedNanos + (long) (medianNanos * factor);
    }
}
