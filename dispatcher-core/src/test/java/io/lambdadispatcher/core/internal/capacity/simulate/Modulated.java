package io.lambdadispatcher.core.internal.capacity.simulate;

import java.util.function.DoubleUnaryOperator;
import java.util.random.RandomGenerator;

/**
 * A rate that changes at once from one bin of time to the next, and within the bins jumps between a
 * high and a low value after exponential times: a Markov-modulated Poisson process. Time must not
 * go back.
 */
final class Modulated implements DoubleUnaryOperator {
    /** Mean time between two jumps. */
    private static final double JUMP_SECONDS = 1;

    private static final double MOST_AMPLITUDE = 0.9;

    private final double[] perSecond;
    private final double binSeconds;
    private final double dispersion;
    private final RandomGenerator random;
    private double jumpSeconds;
    private boolean high;

    /**
     * @param perSecond the mean rate of each bin
     * @param dispersion index of dispersion of the counts of one second; 1 = a Poisson process
     */
    Modulated(double[] perSecond, double binSeconds, double dispersion, RandomGenerator random) {
        this.perSecond = perSecond;
        this.binSeconds = binSeconds;
        this.dispersion = dispersion;
        this.random = random;
    }

    double highest() {
        double highest = 0;
        for (double rate : perSecond) {
            highest = Math.max(highest, rate * (1 + amplitude(rate)));
        }
        return highest;
    }

    /**
     * Returns the relative amplitude that gives a rate the dispersion: 1 + rate x amplitude² x jump
     * x (1 - (1 - exp(-2/jump)) x jump/2), by the autocovariance exp(-2t/jump) of the two states.
     */
    private double amplitude(double rate) {
        double share = 1 - JUMP_SECONDS / 2 * -Math.expm1(-2 / JUMP_SECONDS);
        double amplitude = Math.sqrt((dispersion - 1) / (Math.max(rate, 1e-9) * JUMP_SECONDS * share));
        return Math.min(MOST_AMPLITUDE, amplitude);
    }

    @Override
    public double applyAsDouble(double seconds) {
        while (seconds >= jumpSeconds) {
            jumpSeconds += random.nextExponential() * JUMP_SECONDS;
            high = !high;
        }
        double rate = perSecond[Math.min(perSecond.length - 1, (int) (seconds / binSeconds))];
        return rate * (1 + (high ? 1 : -1) * amplitude(rate));
    }
}
