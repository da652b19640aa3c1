package io.lambdadispatcher.core.internal.policy;

/** Decides whether something new is worse than what it replaces. Pure. Any thread. */
public final class CanaryRule {
    private static final int FEWEST_EVENTS = 5;
    /** How much larger the share must be. */
    private static final double MARGIN = 0.01;
    /** A difference that chance seldom causes, although it is looked at again and again. */
    private static final double DEVIATIONS = 4;

    private CanaryRule() {}

    /**
     * Returns whether something bad happens clearly more often than before.
     *
     * <p>Compares the number of events with the one that would be expected if nothing had changed
     * (a test of two proportions), so that little traffic of either side causes no verdict.
     *
     * @param events how often it has happened
     * @param of out of how many
     * @param eventsBefore how often it happened before
     * @param ofBefore out of how many; 0 if nothing is known, which counts as never
     */
    public static boolean isHigher(double events, double of, double eventsBefore, double ofBefore) {
        if (events < FEWEST_EVENTS) {
            return false;
        }
        boolean known = ofBefore > 0;
        double rate = known ? (events + eventsBefore) / (of + ofBefore) : 0;
        double expected = of * rate;
        double variance = known ? expected * Math.max(0, 1 - rate) * ofBefore / (of + ofBefore) : 0;
        double rateBefore = known ? eventsBefore / ofBefore : 0;
        // One more, because rare events are spread more widely than this variance says.
        return events > expected + DEVIATIONS * Math.sqrt(variance + 1) && events >= (rateBefore + MARGIN) * of;
    }
}
