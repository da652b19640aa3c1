package io.lambdadispatcher.core.internal.capacity.simulate;

import java.util.random.RandomGenerator;

/**
 * A fixed part, and one that is lognormal: most draws near the median, few far above it, as cold
 * starts and calls over a network are.
 *
 * @param fixedNanos what every draw has
 * @param medianNanos of the rest
 * @param sigma standard deviation of the rest's logarithm; 0 = always the median
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
